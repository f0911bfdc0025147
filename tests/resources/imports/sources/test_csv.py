"""CSV files as services and spreadsheets write them."""

import codecs
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from resources.imports.importing import csv_source

from waypost.resources.imports.source import Address, LinkPage, UnexpectedAnswer

SHLINK = "Long URL,Tags,Domain,Short code,Title\nhttps://example.com/1,a|b,s.example,abc,First\n"


async def read(tmp_path: Path, content: str | bytes, **options: Any) -> LinkPage:
    source = csv_source(tmp_path / "links.csv", content, **options)
    await source.check()
    return await source.link_page(None)


@pytest.mark.parametrize(
    ("content", "address", "source_id"),
    [
        (SHLINK, Address("s.example", "abc"), "s.example/abc"),
        ("OriginalURL;Path;Title;Tags;CreatedAt\nhttps://example.com/1;abc;First;a,b;\n", Address(None, "abc"), "/abc"),
        (
            "Short link,Destination URL,Clicks,Created at,Tags\nhttps://s.example/abc,https://example.com/1,7,,\n",
            Address("s.example", "abc"),
            "s.example/abc",
        ),
        (
            "id\tcreatedAt\tshortUrl\tdomain\tslashtag\tdestination\nX1\t\ts.example/abc\ts.example\tabc\thttps://example.com/1\n",
            Address("s.example", "abc"),
            "X1",
        ),
        ("url\nhttps://example.com/1\n", None, "https://example.com/1"),
        ("short_url,URL\ns.example/%F0%9F%8E%89,https://example.com/1\n", Address("s.example", "🎉"), "s.example/🎉"),
    ],
)
async def test_finds_columns_by_name(tmp_path: Path, content: str, address: Address | None, source_id: str) -> None:
    page = await read(tmp_path, content)
    [found] = page.links
    assert (found.address, found.source_id, found.destination_url) == (address, source_id, "https://example.com/1")
    assert (page.next_cursor, page.total, list(page.warnings)) == (None, 1, [])


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (b"", "utf-16-le"),
        (b"", "cp1252"),
    ],
)
async def test_reads_every_encoding_of_spreadsheets(tmp_path: Path, mark: bytes, encoding: str) -> None:
    text = "Destination URL;Slug;Title\r\nhttps://example.com/1;abc;Grüße, “Welt”\r\n"
    [found] = (await read(tmp_path, mark + text.encode(encoding))).links
    assert (found.title, found.address) == ("Grüße, “Welt”", Address(None, "abc"))


async def test_reads_quoted_cells_and_the_separator_of_excel(tmp_path: Path) -> None:
    content = 'sep=;\nURL;Title;Tags\n"https://example.com/1";"a; ""b""\nc";x\n\n;;\n'
    [found] = (await read(tmp_path, content)).links
    assert (found.title, list(found.tags)) == ('a; "b"\nc', ["x"])


async def test_lists_unknown_columns_and_refuses_rows(tmp_path: Path) -> None:
    content = (
        "URL,Slug,Created at,Colour\n"
        "https://example.com/1,a,2020-02-03 04:05:06,red\n"
        ",b,,\n"
        "https://example.com/3,c,yesterday,\n"
        "https://example.com/4,d,1580702706,\n"
        "https://example.com/5,e,2020-02-03T04:05:06+01:00,\n"
    )
    page = await read(tmp_path, content)
    assert list(page.warnings) == [
        "Columns that are not imported: Colour",
        "Times without a time zone were read as UTC. If that is wrong, import again with the zone",
    ]
    assert [(row.source_id, row.reason) for row in page.refused] == [
        ("/b", "The row has no destination."),
        ("/c", "yesterday is not a time such as 2026-01-31T12:00:00Z."),
    ]
    times = [link.created_at.astimezone(UTC).hour for link in page.links if link.created_at]
    assert times == [4, 4, 3]
    berlin = await read(tmp_path, content, timezone=ZoneInfo("Europe/Berlin"))
    assert berlin.links[0].created_at == datetime(2020, 2, 3, 3, 5, 6, tzinfo=UTC)


async def test_reads_a_separator_of_several_characters_as_one(tmp_path: Path) -> None:
    [found] = (await read(tmp_path, "sep=;;\nurl;slug\nhttps://example.com/1;a\n")).links
    assert found.source_id == "/a"


async def test_names_few_of_many_unknown_columns(tmp_path: Path) -> None:
    columns = ",".join(f"column{number}" for number in range(1000))
    [warning] = (await read(tmp_path, f"url,{columns}\nhttps://example.com/1\n")).warnings
    assert len(warning) < 1000
    assert warning.endswith("column19, …")


async def test_rows_without_a_hostname_belong_to_the_site(tmp_path: Path) -> None:
    [found] = (await read(tmp_path, "url,slug\nhttps://example.com/1,abc\n", site="s.example")).links
    assert (found.address, found.source_id) == (Address("s.example", "abc"), "s.example/abc")


async def test_continues_at_a_row(tmp_path: Path) -> None:
    rows = "".join(f"https://example.com/{number},{number}\n" for number in range(1200))
    source = csv_source(tmp_path / "links.csv", f"url,slug\n{rows}")
    first = await source.link_page(None)
    assert (len(first.links), first.next_cursor, first.total) == (500, "500", 1200)
    again = await csv_source(tmp_path / "links.csv", f"url,slug\n{rows}").link_page("1000")
    assert (len(again.links), again.next_cursor) == (200, None)
    assert again.links[0].source_id == "/1000"
    assert (await source.link_page("500")).links[0].source_id == "/500"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "no column with destinations"),
        ("", "no column with destinations"),
        (b"url\n\xff\xfe\x00\x01\x81".replace(b"url", codecs.BOM_UTF8 + b"url"), "encoding"),
        ('url\n"https://example.com' + "x" * 200_000, "never closed"),
        ('url,"' + "x" * 200_000, "never closed"),
        ("url\n" + "," * 300_000, "row is too long"),
        ('url\n"' + '\n","' * 100_000, "row is too long"),
        ("url," * 100_000, "row is too long"),
        ('sep="\nurl,slug\nhttps://example.com/1,a\n', "no column with destinations"),
    ],
)
async def test_says_what_is_wrong_with_a_file(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(UnexpectedAnswer, match=message):
        await read(tmp_path, content)
