"""What people touch: the command line, reports, the demo, planning and the reproductions of the papers."""
