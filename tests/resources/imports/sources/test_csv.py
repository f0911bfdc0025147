"""CSV files as services and spreadsheets write them."""

import codecs
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from resources.imports.importing import csv_source

from waypost.kit.csv_cells import csv_text
from waypost.resources.imports.source import Address, LinkPage, SourceError, UnexpectedAnswer
from waypost.resources.links.account_data import CSV_COLUMNS
from waypost.resources.links.lists.csv_file import TITLES

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
    [found] = (await read(tmp_path, "URL,External ID,Note\nhttps://example.com/1,A/1,'=1\n")).links
    assert (found.external_id, found.note) == ("A/1", "'=1")


@pytest.mark.parametrize("text", ["@sku-2", "=1+1", "+1", "-1", "'=1", "''@a", "'a", "''", "a'=1"])
@pytest.mark.parametrize("columns", [TITLES, CSV_COLUMNS])
async def test_reads_what_was_exported_as_it_was(tmp_path: Path, columns: tuple[str, ...], text: str) -> None:
    url = "https://example.com/1"
    values = {"Destination URL": url, "destination_url": url, "Tags": f"{text}, b", "tags": f"{text},b"}
    values |= dict.fromkeys(("Title", "title", "Note", "note", "External ID", "external_id"), text)
    [found] = (await read(tmp_path, csv_text([columns, [values.get(name) for name in columns]]))).links
    assert (found.title, found.note, found.external_id) == (text, text, text)
    assert [tag.strip() for tag in found.tags] == [text, "b"]


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
        ("/b", "Line 3: The row has no destination."),
        ("/c", "Line 4: yesterday is not a time such as 2026-01-31T12:00:00Z."),
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
    [warning, _] = (await read(tmp_path, f"url,{columns}\nhttps://example.com/1\n")).warnings
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
        (codecs.BOM_UTF16_LE + b"u\0r\0l\0\n\0\0\xd8x\0", "encoding is broken"),
        (b"PK\x03\x04\0\0", "workbook of Excel"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "workbook of Excel"),
        (b"\x1f\x8b\x08\0", "compressed"),
        ("  <!DOCTYPE html><table>", "web page"),
        ("%PDF-1.7", "PDF"),
        ('url,"' + "x" * 200_000, "never closed"),
        ("url," * 100_000, "row is too long"),
        ("url,slug\n" + 'a","b\n' * 100_000, "too many quotation marks"),
    ],
)
async def test_says_what_is_wrong_with_a_file(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(UnexpectedAnswer, match=message):
        await read(tmp_path, content)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('"https://example.com' + "x" * 200_000, "never closed"),
        ("," * 600_000, "too long"),
        ('"' + "x" * 200_000 + '"', "too long"),
        ('"' + "\n" * 10_000, "never closed"),
    ],
)
async def test_a_row_that_is_too_long_is_refused_alone(tmp_path: Path, row: str, reason: str) -> None:
    page = await read(tmp_path, f"url\n{row}\nhttps://example.com/1\n")
    assert [link.destination_url for link in page.links] == ["https://example.com/1"]
    [refused] = page.refused
    assert refused.source_id == "row 1"
    assert refused.reason.startswith("Line 2: ")
    assert reason in refused.reason


async def test_shows_columns_to_choose_from(tmp_path: Path) -> None:
    content = "Ziel,Kürzel,Titel,Clicks\nhttps://example.com/1,a,One,7\n,,,\nhttps://example.com/2,b\n"
    source = csv_source(tmp_path / "links.csv", content)
    assert [(column.name, column.field) for column in (await source.describe()).columns] == [
        ("Ziel", ""),
        ("Kürzel", ""),
        ("Titel", ""),
        ("Clicks", "clicks"),
    ]
    assert (await source.describe()).columns[0].samples == ["https://example.com/1", "https://example.com/2"]
    assert (await source.describe()).columns[2].samples == ["One"]
    with pytest.raises(UnexpectedAnswer, match="no column with destinations"):
        await source.check()
    redirects = csv_source(tmp_path / "redirects.csv", "URL,Code\nhttps://example.com/1,301\n")
    assert [column.field for column in (await redirects.describe()).columns] == ["destination", ""]


async def test_reads_columns_as_they_are_chosen(tmp_path: Path) -> None:
    content = "URL,Code,Titel\nhttps://s.example/x,301,https://example.com/1\n"
    [found] = (await read(tmp_path, content, columns=["short_url", "path", "destination"])).links
    assert (found.address, found.destination_url) == (Address("s.example", "301"), "https://example.com/1")
    with pytest.raises(SourceError, match="chosen for another file"):
        await read(tmp_path, content, columns=["destination"])
    with pytest.raises(UnexpectedAnswer, match="no column with destinations"):
        await read(tmp_path, content, columns=["", "path", ""])
