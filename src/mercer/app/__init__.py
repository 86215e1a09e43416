"""Applications: the command line, reports, the explorer, the demo, cost estimates and reproductions of the papers."""
