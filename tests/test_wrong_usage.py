"""Wrong values of every argument of every command: exit code 2, and a message without Python in it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from architecture.test_docs import commands
from test_cli import Waypost, waypost

from waypost.cli import app
from waypost.commands import remote

__all__ = ["waypost"]

EMAILS = {"EMAIL", "--account", "--keys-to"}
FILES = {"--file", "--token-file", "--secret-file", "--certificate", "--key-file", "DIRECTORY"}
WRONG_TEXTS = {
    "--domain": "example.com",
    "--timezone": "Mars/One",
    "--encoding": "latin-99",
    "--scope": "everything",
    "--foreground": "reddish",
    "--background": "reddish",
    "HOSTNAME": "-x",
    "URL": "nowhere",
    **dict.fromkeys(("--trial-ends-at", "--expires-at", "--since", "--from"), "soon"),
}
WITHOUT_WRONG_VALUES = {
    *("--name", "--reason", "--secret", "--link", "KEY_ID", "--tag", "--search"),  # any text, or what is not found
    *("--output", "FILE", "--backup", "--data-dir", "--host", "--url", "--key"),  # what the machine cannot do fails
    "--to",  # a time, a store or a database
}
NEEDED = {
    **dict.fromkeys(EMAILS, "a@example.com"),
    **dict.fromkeys(("PLAN",), "none"),
    **dict.fromkeys(("ROLE",), "viewer"),
    **dict.fromkeys(("--output", "FILE"), "new"),
    "SOURCE": "csv",
    "SHELL": "bash",
    "HOSTNAME": "go.example.com",
    "URL": "https://example.com",
    "DIRECTORY": ".",
}
PYTHON = re.compile(r"""Traceback|\bNone\b|Errno|\bb'|\['|\{'|<\w+ object|codec|[A-Z]\w+Error\b""")


def kind_of(argument: Any) -> str:
    return getattr(argument.hint, "__name__", str(argument.hint))


def wrong_values(argument: Any) -> list[str]:
    name, kind = argument.names[0], kind_of(argument)
    if name in EMAILS:
        return ["nobody", ""]
    if name in FILES:
        return ["missing"]
    if name in WRONG_TEXTS:
        return [WRONG_TEXTS[name]]
    if "int" in kind:
        return ["many", "-1", "9" * 20]
    return ["gold"] if kind in {"Literal", "Optional"} else []


def cases() -> Iterator[tuple[str, ...]]:
    for name, command in commands(app, ""):
        arguments = list(command.assemble_argument_collection())
        for argument in arguments:
            for value in wrong_values(argument):
                line = name.split()
                for each in arguments:
                    if each is argument or each.required:
                        text = value if each is argument else NEEDED.get(each.names[0], "x")
                        line += [text] if each.names[0].isupper() else [each.names[0], text]
                yield tuple(line)


@pytest.mark.parametrize("line", list(cases()), ids=" ".join)
def test_wrong_values_exit_with_2_and_plain_words(waypost: Waypost, line: tuple[str, ...]) -> None:
    done = waypost(*line, code=2)
    assert done.stdout == ""
    assert not PYTHON.search(done.stderr), done.stderr


def test_every_argument_has_wrong_values_or_none() -> None:
    every = [each for _, command in commands(app, "") for each in command.assemble_argument_collection()]
    open_ = {each.names[0] for each in every if not wrong_values(each) and kind_of(each) != "bool"}
    assert open_ - WITHOUT_WRONG_VALUES - {"_"} == set()


def test_options_that_read_stdin_accept_a_hyphen() -> None:
    every = [command for _, command in commands(app, "")] + [remote.app.meta]
    arguments = [each for command in every for each in command.assemble_argument_collection(parse_docstring=True)]
    reading = {each.names[0]: each.parameter for each in arguments if "- is stdin" in (each.parameter.help or "")}
    assert reading.keys() == {"--token-file", "--key-file"}
    assert all(parameter.allow_leading_hyphen for parameter in reading.values())


def test_refuses_arguments_that_are_no_text(waypost: Waypost) -> None:
    assert waypost("account", "list", "\udcff", code=2).stderr == "Arguments must be UTF-8 text.\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--limit", "0"], "--limit: This must be between 1 and 1,000,000.\n"),
        (["--key-file", "binary"], "--key-file: binary cannot be read: it is not text.\n"),
        (["--key-file", "missing"], "--key-file: missing cannot be read: No such file or directory.\n"),
    ],
)
def test_remote_commands_name_the_wrong_option(waypost: Waypost, options: list[str], message: str) -> None:
    (waypost.directory / "binary").write_bytes(b"\xff\xfe")
    (waypost.directory / "key").write_text("wp_live_x")
    key = [] if "--key-file" in options else ["--key-file", "key"]
    own, rest = (options, []) if "--key-file" in options else ([], options)
    line = ["--remote", "http://127.0.0.1:1", *key, *own, "link", "list", *rest]
    assert waypost(*line, code=2).stderr == message


@pytest.mark.parametrize(("content", "message"), [(b"\xff", "waypost.toml: is not UTF-8 text\n")])
def test_names_a_settings_file_that_cannot_be_read(waypost: Waypost, content: bytes, message: str) -> None:
    (waypost.directory / "waypost.toml").write_bytes(content)
    assert waypost("account", "list", code=2).stderr == message
