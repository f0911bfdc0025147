"""`python -m docs_site [--output DIR]`: build the documentation site, and fail if anything of it is broken."""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from docs_site import api_pages, check, llms, tree


def build(output: Path, document: api_pages.Schema) -> None:
    """Build the site into `output`, a directory that is replaced. Raises SystemExit with what is broken.

    `document`: the OpenAPI document of the API.
    """
    config = yaml.safe_load((tree.ROOT / "mkdocs.yml").read_text())
    generated = {
        **api_pages.api_pages(document),
        "adr/index.md": tree.decisions_index((tree.DOCS / "adr").glob("0*.md")),
    }
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        pages = work / "docs"
        tree.copy_pages(pages, generated, config["extra"]["repository"])
        config["nav"] = tree.complete(config["nav"], pages, generated)
        (work / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False))
        command = [str(Path(sys.executable).parent / "zensical"), "build", "--strict", "--clean"]
        done = subprocess.run(command, cwd=work, text=True, capture_output=True, check=False)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        llms.write(work / "site", config, pages)
        _search_no_decisions(work / "site" / "search.json")
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(work / "site", output)
    problems = check.problems(output, config["site_url"])
    if problems:
        raise SystemExit("\n".join(problems))


def _search_no_decisions(index: Path) -> None:
    """Leave the text of decision records out of the search, where it came before guides. Their list has the titles."""
    found = json.loads(index.read_text())
    found["items"] = [each for each in found["items"] if not each["location"].startswith("adr/0")]
    index.write_text(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=tree.ROOT / "site")
    output = parser.parse_args().output
    build(output, api_pages.openapi())
    pages = sum(1 for _ in output.rglob("*.html"))
    print(f"{pages} pages in {output}. To read them: python3 -m http.server --directory {output}")


if __name__ == "__main__":
    main()
