"""File names are safe on every system, and no two of an archive are the same."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.resources.qrcodes.file_names import FileNames, check_pattern, safe_name

LINK = {"slug": "Spring-1", "title": "Spring", "hostname": "go.brand.com", "id": "01a1fbb2-2855-72ee-8e77-c161c4205e89"}
DEVICES = ("CON", "prn", "Aux", "NUL", "com1", "LPT9", "COM¹", "CONIN$", "con .tar", "aux.b.c")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Spring 2027", "Spring 2027"),
        ('a/b\\c:d*e?f"g<h>i|j', "a_b_c_d_e_f_g_h_i_j"),
        ("  two\u00a0 spaces\u2028here ", "two spaces here"),
        ("ends. . ", "ends"),
        ("../../etc/passwd", "_.._etc_passwd"),
        (".htaccess", "htaccess"),
        ("photo\u202egpj.exe", "photogpj.exe"),
        ("bell\x07 and \x85", "bell and"),
        ("=1+1", "_=1+1"),
        ("-rf", "_-rf"),
        ("@sum", "_@sum"),
        ("e\u0301", "\u00e9"),
        ("Grüße 🎉", "Grüße 🎉"),
        ("\u202e...\u200b", ""),
        ("é" * 300, "é" * 60),
        *((device, f"_{device}") for device in DEVICES),
        ("console", "console"),
    ],
)
def test_makes_names_that_windows_accepts(text: str, name: str) -> None:
    assert safe_name(text) == name


@given(st.text(max_size=300))
def test_any_text_becomes_a_safe_name_or_none(text: str) -> None:
    name = safe_name(text)
    assert len(name.encode()) <= 121
    assert name == name.strip(" ")
    assert not name.startswith((".", "=", "+", "-", "@"))
    assert not name.endswith(".")
    assert not set(name) & set('<>:"/\\|?*')
    assert all(unicodedata.category(char)[0] != "C" for char in name)
    assert safe_name(name) == name


def test_names_differ_by_more_than_case() -> None:
    names = FileNames("{title}", "png")
    titles = ["Sale", "sale", "SALE (2)", "Café", "Cafe\u0301", "Sale", "ß", "ss", "codes", ""]
    files = [names.add({**LINK, "title": title}) for title in titles]
    assert files == [
        *("Sale.png", "sale (2).png", "SALE (2) (2).png", "Café.png", "Café (2).png", "Sale (3).png"),
        *("ß.png", "ss (2).png", "codes.png", "Spring-1.png"),
    ]
    assert len({file.casefold() for file in files}) == len(files)


def test_fills_in_the_fields_of_the_link() -> None:
    assert FileNames("{hostname}_{slug}-{title} {id}", "svg").add(LINK) == (
        "go.brand.com_Spring-1-Spring 01a1fbb2-2855-72ee-8e77-c161c4205e89.svg"
    )
    assert FileNames("{title}", "pdf").add({**LINK, "title": "{slug} & {id}"}) == "{slug} & {id}.pdf", "only once"
    assert FileNames("codes", "csv").add(LINK) == "codes (2).csv", "the list of files"


@pytest.mark.parametrize("pattern", ["{slug", "slug}", "{}", "{Slug}", "{title!r}", "{{slug}}", "{tag}"])
def test_refuses_other_braces(pattern: str) -> None:
    with pytest.raises(ValueError, match="Braces contain one of"):
        check_pattern(pattern)
