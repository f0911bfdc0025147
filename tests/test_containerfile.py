"""The container image's sources agree with the project. tests/container/ builds and runs it."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTAINERFILE = (ROOT / "Containerfile").read_text()


def test_uses_the_makefiles_uv() -> None:
    [version] = re.findall(r"^UV_VERSION := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert f"ARG UV_VERSION={version}\n" in CONTAINERFILE


def test_what_is_copied_is_not_ignored() -> None:
    copied = {file for line in re.findall(r"^COPY ([^-].*) \S+$", CONTAINERFILE, re.MULTILINE) for file in line.split()}
    for name in (".containerignore", ".dockerignore"):
        assert set(re.findall(r"^!(.+)$", (ROOT / name).read_text(), re.MULTILINE)) == copied


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_dependencies_have_wheels_for_both_architectures(machine: str) -> None:
    """The builder compiles our own code only."""
    wheel = re.compile(rf"-(py3|py2\.py3|cp313|cp3\d+-abi3)-.*(any|manylinux_\S+_{machine}\S*)\.whl$")
    wheels = dict(locked())
    assert len(wheels) > 50
    assert [name for name, urls in wheels.items() if not any(map(wheel.search, urls))] == []


def locked() -> Iterator[tuple[str, list[str]]]:
    """What the image installs: each package with the URLs of its wheels."""
    packages = {package["name"]: package for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    own = packages.pop("waypost")
    due = [
        *own["dependencies"],
        *(each for name in ("clickhouse", "mcp") for each in own["optional-dependencies"][name]),
    ]
    while due:
        needed = due.pop()
        if "win32" in needed.get("marker", ""):
            continue
        if package := packages.pop(needed["name"], None):
            extras = package.get("optional-dependencies", {})
            due += [
                *package.get("dependencies", []),
                *(each for name in needed.get("extra", []) for each in extras[name]),
            ]
            yield package["name"], [wheel["url"] for wheel in package.get("wheels", [])]
