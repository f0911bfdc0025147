"""The pages of the site, as Markdown with links between them: docs/, pages of the root, and generated ones."""

import os
import posixpath
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ROOT_PAGES = {
    "ARCHITECTURE.md": "design/architecture.md",
    "CONTRIBUTING.md": "design/contributing.md",
    "SECURITY.md": "design/security-policy.md",
    "CHANGELOG.md": "reference/changelog.md",
    "clients/python/README.md": "reference/clients/python.md",
    "clients/typescript/README.md": "reference/clients/typescript.md",
    "README.md": "index.md",
}
"""Where links to pages outside of docs/ lead. README.md is not copied: the site has a start page of its own."""

_FENCE = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_DIAGRAM = re.compile(r"^!\[([^\]]*)\]\(((?:[^)\s]+/)?diagrams/[\w-]+\.svg)\)$", re.MULTILINE)

Nav = list[Any]


def copy_pages(target: Path, generated: Mapping[str, str], repository: str) -> None:
    """Write all pages into the directory `target`. `generated` is the text of further pages by path."""
    shutil.copytree(DOCS, target)
    for path in sorted(target.rglob("*.md")):
        name = path.relative_to(target).as_posix()
        path.write_text(_adapt((DOCS / name).read_text(), f"docs/{name}", name, repository))
    for source, name in ROOT_PAGES.items():
        if not (target / name).exists():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_adapt((ROOT / source).read_text(), source, name, repository))
    for name, text in generated.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text)


def complete(nav: Nav, pages: Path, generated: Iterable[str]) -> Nav:
    """Return the navigation with the pages that it does not name added to the section of their directory.

    Generated pages keep their order.
    """
    named = {*paths(nav), *generated}
    files = sorted(path.relative_to(pages).as_posix() for path in pages.rglob("*.md"))
    missing = [*generated, *(path for path in files if path not in named)]
    groups: dict[str, Nav] = {}
    for entry in nav:
        for section in entry.values():
            for path in paths(section):
                groups.setdefault(posixpath.dirname(path), section)
    for title, directory, section in (
        ("Endpoints", "reference/endpoints", "reference"),
        ("Decisions", "adr", "design"),
    ):
        groups[directory] = []
        groups[section].insert(1, {title: groups[directory]})
    for path in missing:
        groups[posixpath.dirname(path)].append(path)
    return nav


def paths(nav: Nav | str | Mapping[str, Any]) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, Mapping) else nav:
            yield from paths(entry)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return Markdown with everything but its code changed."""
    parts, end = [], 0
    for code in _FENCE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def _adapt(text: str, source: str, name: str, repository: str) -> str:
    """Return the page `source` of the repository as page `name` of the site."""

    def link(match: re.Match[str]) -> str:
        return match[1] + _target(match[2], source, name, repository) + match[3]

    text = indent_by_four(_inline_diagrams(text, source))
    return outside_code(text, lambda prose: _LINK.sub(link, prose))


def _target(link: str, source: str, name: str, repository: str) -> str:
    path, hash_, anchor = link.partition("#")
    if not path or re.match(r"\w+:", link):
        return link
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if meant == "docs/adr":
        page = "adr/index.md"
    elif meant in ROOT_PAGES:
        page = ROOT_PAGES[meant]
    elif meant.startswith("docs/"):
        page = meant.removeprefix("docs/")
    else:
        kind = "tree" if (ROOT / meant).is_dir() else "blob"
        return f"{repository}/{kind}/main/{meant}{hash_}{anchor}"
    return os.path.relpath(page, posixpath.dirname(name) or ".") + hash_ + anchor


def _inline_diagrams(text: str, source: str) -> str:
    """Diagrams become part of the page, so that they follow its colors and their text can be searched."""

    def inline(match: re.Match[str]) -> str:
        svg = (ROOT / posixpath.dirname(source) / match[2]).read_text()
        drawing = svg[svg.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{match[1]}" ', 1)
        return '<figure class="diagram" tabindex="0">\n' + re.sub(r"\n\s*\n", "\n", drawing).strip() + "\n</figure>"

    return _DIAGRAM.sub(inline, text)


def indent_by_four(text: str) -> str:
    """Return Markdown whose lists are as Python-Markdown requires them.

    Items are indented by four, not by their marker, and a blank line separates an item from paragraphs before it.
    """
    lines: list[str] = []
    width, is_code, is_loose = 0, False, False
    for line in text.split("\n"):
        marker = None if is_code else re.match(r"(?:\d+\.|[-*]) ", line)
        if line.startswith("```"):
            width, is_code = 0, not is_code
        elif marker:
            if width and is_loose and lines[-1]:
                lines.append("")
            width, is_loose = len(marker[0]), False
        elif line and not line.startswith(" "):
            width = 0
        is_loose |= not line
        is_inside = width and not is_code and line.startswith(" " * width)
        lines.append(f"    {line[width:]}" if is_inside else line)
    return "\n".join(lines)


def decisions_index(pages: Iterable[Path]) -> str:
    """Return the page that lists the decision records."""
    rows = [(path.name, path.read_text().partition("\n")[0].removeprefix("# ")) for path in sorted(pages)]
    lines: Sequence[str] = [f"- [{title.replace('. ', ' · ', 1)}]({name})" for name, title in rows]
    return "# Decisions\n\nWhat a newcomer would question, and why it is so.\n\n" + "\n".join(lines) + "\n"
