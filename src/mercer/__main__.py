"""``python -m mercer`` is the command ``mercer``."""

from mercer.app.cli import main

main(prog_name="mercer")
