"""Pages of messages quote the source, and docs/operate/messages.md has every warning and error of the log."""

import ast
import functools
import re
from collections.abc import Iterator

import pytest
from architecture.code import PACKAGE, ROOT, sources

PAGE = (ROOT / "docs" / "operate" / "messages.md").read_text()
API_PAGE = (ROOT / "docs" / "reference" / "errors.md").read_text()
GAP = "…"
LEVELS = {"warning", "error", "exception", "critical"}
QUOTING_COLUMNS = {"message": 0, "reason": 0, "event": 0, "finding": 1}
"""Column with messages, by the header of a table's first column."""


def texts_of(tree: ast.AST) -> Iterator[str]:
    """Yield every text of a module, with a gap for each value in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def log_events(tree: ast.AST) -> Iterator[str]:
    """Yield the texts of warnings and errors, of structlog and of the parent process."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        words = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        function = ast.unparse(call.func)
        if re.fullmatch(rf"(_?log|structlog\.get_logger\(\))\.({'|'.join(LEVELS)})", function) and words:
            yield words[0]
        elif function == "log" and len(words) > 1 and words[0] in LEVELS:
            yield words[1]


def quoted(page: str) -> Iterator[str]:
    """Yield the messages that the tables of the page quote."""
    column = None
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            column = None
        elif column is None:
            column = QUOTING_COLUMNS.get(cells[0].strip(), -1)
        elif column >= 0:
            yield from re.findall(r"`([^`]+)`", " ".join(cells[column : column + 1]))


@functools.cache  # takes seconds, which processes with other tests save
def trees() -> list[ast.Module]:
    paths = (*sources(), *(PACKAGE / "database" / "migrations").glob("*.py"))
    return [ast.parse(path.read_text()) for path in paths]


@functools.cache
def all_texts() -> str:
    return "\n".join(text for tree in trees() for text in texts_of(tree))


@functools.cache
def all_events() -> set[str]:
    return {event for tree in trees() for event in log_events(tree)}


def is_in_source(message: str) -> bool:
    return bool(re.search(".*".join(map(re.escape, message.split(GAP))), all_texts()))


def test_finds_messages_and_events() -> None:
    assert is_in_source("Port … on … is in use by another program. …")
    assert not is_in_source("Port … on … is used by another program.")
    assert {"visits dropped", "change feed disconnected", "process died, restarting"} <= all_events()
    assert {"visits dropped", "The database … cannot be used: …", "… does not resolve: …"} <= set(quoted(PAGE))


@pytest.mark.parametrize("page", [PAGE, API_PAGE], ids=["operators", "api"])
def test_quotes_messages_of_the_source(page: str) -> None:
    assert [message for message in quoted(page) if not is_in_source(message)] == []


def test_has_every_warning_and_error_of_the_log() -> None:
    assert all_events() - set(quoted(PAGE)) == set()


def test_has_every_check_of_the_diagnostics() -> None:
    modules = [*(PACKAGE / "commands").glob("doctor*.py"), PACKAGE / "installation.py"]
    doctor = "".join(path.read_text() for path in modules)
    checks = set(re.findall(r'Finding\(\s*"([^"]+)"', doctor))
    assert {"base URL", "disk", "queue"} <= checks
    assert {check for check in checks if f"`{check}`" not in PAGE} == set()
