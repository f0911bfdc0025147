"""The commands of the guides on routing, as they are printed and in their order, on a service."""

import re
import subprocess
from pathlib import Path

from architecture.code import ROOT
from journeys.service import Service, Website

DOCS = ROOT / "docs"
GUIDES = ("device-and-country-routing", "ab-tests", "protected-links", "campaign-links", "link-info-page")
PASSWORD = re.compile(rb"spring-202[67]")
"""Those of protected-links.md, the right and the wrong one."""


def blocks(page: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", (DOCS / f"{page}.md").read_text(), re.DOTALL | re.MULTILINE)


def test_commands_do_what_the_guides_say(tmp_path: Path) -> None:
    """Comments at the ends of lines, and lines of comments, are what the visits of a block print.

    R44: afterwards, no password is in the log or in a file.
    """
    with Website() as site, Service(tmp_path) as service:

        def here(text: str) -> str:
            """Our website has a directory for each host, and the campaign is always in the future."""
            text = text.replace("http://localhost:8000", service.base_url).replace("2027-03-", "2999-03-")
            return re.sub(r"https://([a-z.]+\.com)", rf"{site.url}/\1", text)

        for guide in GUIDES:
            new = {"slug": "app", "destination_url": here("https://example.com/app")}
            link = service.client.post("/api/v1/links", json=new).json()["data"]
            before = f"KEY={service.key} ID={link['id']}\n{here(blocks('reference/api')[0])}"
            for block in blocks(f"guides/{guide}"):
                output = run(before + here(block))
                assert '"errors"' not in output, block
                printed = re.findall(r"^(?:.+? +)?# (\S+)$", here(block), re.MULTILINE)
                assert output.endswith("".join(f"{line}\n" for line in printed)), block
                before += "".join(re.findall(r"^visit\(\) .*\n", block, re.MULTILINE))
            assert service.client.delete(f"/api/v1/links/{link['id']}").status_code == 204
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if PASSWORD.search(path.read_bytes())] == []
    assert PASSWORD.search("".join(service.log.lines).encode()) is None


def run(commands: str) -> str:
    return subprocess.run(["sh", "-euc", commands], capture_output=True, text=True, check=True).stdout
