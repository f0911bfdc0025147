"""Hosts and apps by the names that people know."""

from importlib.resources import files

import pytest

from waypost.visitors.places import find_place
from waypost.visitors.symbols import BRANDS, FLAGS


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("l.facebook.com", "Facebook"),
        ("WWW.Google.co.uk", "Google"),
        ("mail.google.com", "Gmail"),
        ("com.google.android.gm", "Gmail"),
        ("t.co", "X"),
        ("google.evil.com", None),
        ("evilgoogle.com", None),
        ("notx.com", None),
        ("127.0.0.1", None),
        ("", None),
    ],
)
def test_finds_the_place_of_a_host(host: str, name: str | None) -> None:
    found = find_place(host)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(("file", "ids"), [("brands.svg", BRANDS), ("flags.svg", FLAGS)])
def test_every_picture_is_drawn(file: str, ids: set[str]) -> None:
    drawn = (files("waypost.web.dashboard") / "static" / "symbols" / file).read_text()
    assert [id_ for id_ in sorted(ids) if f'id="{id_}"' not in drawn] == []
