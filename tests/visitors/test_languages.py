"""The most preferred language of Accept-Language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.visitors.languages import preferred_language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (b"", ""),
        (b"de", "de"),
        (b"de-AT,de;q=0.9,en;q=0.8", "de"),
        (b"DE-at", "de"),
        (b"zh-Hant-TW", "zh"),
        (b"en;q=0.8, fr;q=0.9", "fr"),
        (b"en ; q=0.1 , fr ; Q=0.2", "fr"),
        (b"en, fr", "en"),  # the first of equal ones
        (b"en;q=1.0, fr;q=1.000", "en"),
        (b"en;q=0, fr;q=0.001", "fr"),
        (b"en;q=0", ""),
        (b"*", ""),
        (b"*, de;q=0.5", ""),
        (b"de, *;q=0.5", "de"),
        (b"*;q=0.5, de;q=0.8", "de"),
        (b"en;q=2, de;q=0.1", "de"),  # an invalid item says nothing
        (b"en;q=, fr;q=-1, it;q=1.5, es;q=nan, de;q=0.1", "de"),
        (b"en_US, de;q=0.1", "de"),
        (b"\xff\xfe,,;;,=, de;q=0.1", "de"),
        ("ελ, de".encode(), "de"),
    ],
)
def test_the_highest_quality_counts(header: bytes, language: str) -> None:
    assert preferred_language(header) == language


@pytest.mark.parametrize(
    "header",
    [
        b"de," + b"en;q=0.9," * 8_000,
        b"de," + b"x" * 65_536,
        b"de, en;q=0." + b"9" * 65_536,
        b"de" + b" " * 65_536 + b";q=0.1",
        b",".join(b"l%d;q=0.%d" % (index, index) for index in range(7_000)) + b",en",
    ],
)
def test_only_the_start_of_a_long_header_is_read(header: bytes) -> None:
    assert preferred_language(header) in {"de", ""}


@given(st.binary(max_size=2_000) | st.text("ade*-;,q=01. \t", max_size=60).map(str.encode))
def test_any_bytes_give_a_subtag_or_nothing(header: bytes) -> None:
    language = preferred_language(header)
    assert language == "" or (language.isascii() and language.isalpha() and language.islower() and len(language) <= 8)
