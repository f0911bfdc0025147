"""What the style asks of every file: its size, its functions' size, its names, its first words."""

import ast
import re
from pathlib import Path

import pytest
from architecture.code import PACKAGE, classes, functions, sources

FILE_LINES = 300
FUNCTION_LINES = 40
BANNED = re.compile(r"managers?|helpers?|util(s|it(y|ies))?|base|impls?|common|misc")
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

each_source = pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))


def test_it_works() -> None:
    assert words("PageManager_utils") == {"page", "manager", "utils"}
    assert [name for name in words("LinkManager_utils_baseline") if BANNED.fullmatch(name)] != []
    assert not BANNED.fullmatch("database")
    assert len(sources()) > 50


@each_source
def test_a_file_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= FILE_LINES


@each_source
def test_its_functions_are_short(path: Path) -> None:
    assert {name: lines for name, lines in functions(path) if lines > FUNCTION_LINES} == {}


@each_source
def test_its_names_say_something(path: Path) -> None:
    names = [path.stem, *path.relative_to(PACKAGE).parent.parts, *classes(path)]
    assert [name for name in names if any(BANNED.fullmatch(word) for word in words(name))] == []


@each_source
def test_it_says_what_it_is_for(path: Path) -> None:
    text = path.read_text()
    if text:
        told = ast.get_docstring(ast.parse(text))
        assert told, "a module begins with what it is for"


def words(name: str) -> set[str]:
    return {word.lower() for word in WORDS.findall(name)}
