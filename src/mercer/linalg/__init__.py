"""Linear algebra of symmetric operators that need not exist in memory; no kernel-specific code."""
