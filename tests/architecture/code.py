"""The source as the tests of this folder read it: files and functions of the package, texts of the project."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "waypost"
MIGRATIONS = PACKAGE / "database" / "migrations" / "versions"
FOREIGN = {"node_modules", "data", "site"}


def sources() -> list[Path]:
    """Every module but the migrations, which are history and stay as they were."""
    return sorted(path for path in PACKAGE.rglob("*.py") if MIGRATIONS not in path.parents)


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """(name, own lines): a function within a function counts by itself, and its text counts nowhere else."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, _lines(node) - sum(_lines(inner) for inner in _inner(node))


def classes(path: Path) -> list[str]:
    return [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]


def texts() -> list[Path]:
    """Every Markdown file of the project."""
    return sorted(_texts(ROOT))


def _texts(directory: Path) -> Iterator[Path]:
    for entry in os.scandir(directory):
        if not entry.name.startswith(".") and entry.name not in FOREIGN:
            if entry.is_dir(follow_symlinks=False):
                yield from _texts(Path(entry.path))
            elif entry.name.endswith(".md"):
                yield Path(entry.path)


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def _inner(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
        else:
            yield from _inner(child)
