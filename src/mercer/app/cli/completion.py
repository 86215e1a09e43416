"""``mercer completion``: the completion of commands, options and names in a shell."""

from __future__ import annotations

import os
from pathlib import Path

import click

from .errors import BadInput, log
from .options import json_option, print_json

SHELLS = ("bash", "zsh", "fish")
ZSH = "In ~/.zshrc, before a line with compinit if there is one:  fpath+=({folder}); autoload -U compinit; compinit"


@click.command(
    epilog="\b\nExamples:\n  mercer completion bash\n  mercer completion zsh\n"
    '  eval "$(mercer completion bash --show)"      for this session only'
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.option("--show", is_flag=True, help="Print the script on standard output, and install nothing.")
@json_option
@click.pass_context
def completion(ctx: click.Context, shell: str, show: bool, json: bool) -> None:
    """Install the completion of mercer's commands in a shell.

    Writes a script to the folder in which the shell looks for completions of the user, and prints its path. It works
    in shells that are started afterwards.
    """
    script = _script(ctx.find_root().command, shell)
    if show:
        click.echo(script)
        return
    path = _path(shell)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script, encoding="utf-8")
    if json:
        print_json({"shell": shell, "output": str(path)})
        return
    log(f"{path}: completion for {shell}, in shells that are started from now on.")
    if shell == "zsh":
        log(ZSH.format(folder=path.parent))


def _script(main: click.Command, shell: str) -> str:
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise BadInput(f"The installed version of click has no completion for {shell}: pip install -U click")
    return kind(main, {}, "mercer", "_MERCER_COMPLETE").source()


def _path(shell: str) -> Path:
    """Return the path where the shell looks for completions of a user."""
    home = Path.home()
    if shell == "bash":
        data = os.environ.get("XDG_DATA_HOME") or home / ".local" / "share"
        return Path(data) / "bash-completion" / "completions" / "mercer"
    if shell == "zsh":
        return Path(os.environ.get("ZDOTDIR") or home) / ".zfunc" / "_mercer"
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "fish" / "completions" / "mercer.fish"
