"""Notices after a form: pages show those of the service, and no text of a URL."""

from pathlib import Path

import pytest
from architecture.code import ROOT
from browsing import open_place

from waypost.web.dashboard import notices, redirect


async def test_a_page_shows_the_notice_of_a_code_and_no_other_text(database_url: str, tmp_path: Path) -> None:
    async with open_place(database_url, tmp_path) as place:
        ada = await place.browser("ada@example.com")
        path = redirect("/pixels?page=1", "pixel-deleted").headers["location"]
        assert path == "/pixels?page=1&done=pixel-deleted"
        assert "Pixel deleted." in (await ada.get(path)).text
        assert 'role="status">Call' not in (await ada.get("/pixels?done=Call+555-0100")).text
        assert "Pixel deleted." not in (await ada.get("/pixels/nothing?done=pixel-deleted")).text, "an error"
    with pytest.raises(KeyError, match="unknown"):
        redirect("/pixels", "unknown")


def test_each_notice_is_used() -> None:
    code = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py") if path.name != "notices.py")
    assert [name for name in notices.NOTICES if f'"{name}"' not in code] == []
