"""``python -m mercer`` is the command ``mercer``."""

from mercer.app.cli import main

if __name__ == "__main__":
    main(prog_name="mercer")
