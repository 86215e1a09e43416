"""Small wrong versions of the core, and how the tests that should find them are run against each."""
