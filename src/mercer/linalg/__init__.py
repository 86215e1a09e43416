"""Linear algebra of symmetric operators that need not be stored in memory; no kernel-specific code."""
