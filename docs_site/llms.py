"""llms.txt, an index of the site for language models, and llms-full.txt, all of its text. See llmstxt.org."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from docs_site import tree

_FIRST_PARAGRAPH = re.compile(r"^# .*\n+(?!```|\||<|-|#)((?:.+\n)+)", re.MULTILINE)


def write(site: Path, config: dict[str, Any], pages: Path) -> None:
    """Write both files, and each page as Markdown beside its HTML, to which llms.txt links."""
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}"]
    for section in config["nav"]:
        for title, entries in section.items():
            lines += ["", f"## {title}", ""]
            lines += [_line(config["site_url"], path, (pages / path).read_text()) for path in tree.paths(entries)]
    (site / "llms.txt").write_text("\n".join(lines) + "\n")
    texts = [(pages / path).read_text() for path in tree.paths(config["nav"])]
    (site / "llms-full.txt").write_text("\n\n".join(texts))
    for path in tree.paths(config["nav"]):
        copy = site / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((pages / path).read_text())


def _line(site_url: str, path: str, text: str) -> str:
    title = text.partition("\n")[0].removeprefix("# ")
    found = _FIRST_PARAGRAPH.search(text)
    about = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found[1].replace("\n", " ")) if found else ""
    sentence = re.split(r"(?<=[.:]) ", about.strip())[0].rstrip(".:")
    return f"- [{title}]({urljoin(site_url, path)})" + (f": {sentence}" if sentence else "")
