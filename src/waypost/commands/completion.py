"""`waypost completion`: a script of Cyclopts, of all commands, also of those of `waypost --remote`."""

from pathlib import Path
from typing import Literal

from cyclopts import App

from waypost.commands import remote


def script(local: App, shell: Literal["bash", "zsh", "fish"]) -> str:
    merged = _merged("waypost", [local, remote.app])
    merged.default(_options)
    return merged.generate_completion(shell=shell)


def _merged(name: str, apps: list[App]) -> App:
    """Return an app with the commands of all of them: of two with the same name, the one with commands."""
    merged = App(name=name, help=apps[0].help, help_format="plaintext")
    names = dict.fromkeys(each for app in apps for each in app if not each.startswith("-"))
    for each in names:
        same = [app[each] for app in apps if each in app]
        groups = [app for app in same if not app.default_command]
        merged.command(_merged(each, groups) if len(groups) > 1 else (groups or same)[0], name=each)
    return merged


def _options(*, remote: str, key_file: Path) -> None:
    """Stand for the options before a command of `waypost --remote`."""
