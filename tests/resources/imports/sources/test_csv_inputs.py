"""What people write into CSV files, by kind: each row is read as what it is, or refused by name."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from resources.imports.importing import csv_source

from waypost.resources.imports.source import LinkPage, SourceLink

HEADER = "Destination URL,Slug,Title\n"
ADDRESSES, CLICKS = "URL,Short link,Title,Remarks\n", "URL,Slug,Title,Clicks,Remarks\n"
A, B = "https://www.example.com/a", "https://www.example.com/b"


@dataclass
class Input:
    content: str | bytes
    links: dict[str, Any] = field(default_factory=dict)
    """By path, or by destination if it has none: the destination, or fields and their values."""
    refused: dict[int, str] = field(default_factory=dict)
    """By line: a part of the reason."""
    said: str = ""
    """A part of a warning, or of what is left out of a link."""
    options: dict[str, Any] = field(default_factory=dict)


CELLS = {
    "comma in the last cell": Input(f"{HEADER}{A},a,One, two\n{B},b,B\n", {"b": B}, {2: "4 cells"}),
    "comma in a URL before other cells": Input(f"{HEADER}{A}?x=1,2,a,A\n", {}, {2: "quotation marks"}),
    "comma in a URL, and an empty last cell": Input(
        f"{HEADER}{A}?x=1,2,a,\n{B},b,\n", {"b": B}, {2: "4 cells, and the header 3"}
    ),
    "comma in a URL, and no last cell": Input(
        f"{ADDRESSES}{A}?x=1,2,go.test/a,A\n{B},go.test/b,B,x\n{B}/c,go.test/c,C,\n",
        {"b": B, "c": f"{B}/c"},
        {2: "The short link “2” is unlike those of other rows"},
    ),
    "two commas in a URL, and no last cells": Input(
        f"{ADDRESSES}{A}/@52.5,13.4,17z,go.test/a\n{B},go.test/b,B,x\n{B}/c,go.test/c,C,y\n",
        {"b": B, "c": f"{B}/c"},
        {2: "“13.4”"},
    ),
    "comma in a URL before a domain": Input(
        f"URL,Domain,Slug,Title\n{B},go.test,b,B\n{A}?x=1,2,go.test,a\n{B}/c,go.test,c,C\n",
        {"b": B, "c": f"{B}/c"},
        {3: "The domain “2”"},
    ),
    "comma in a URL before clicks": Input(
        f"{CLICKS}{A}?x=1,2,a,A,9\n{B},b,B,1,2024 or so\n{B}/c,c,C,2,\n",
        {"b": B, "c": f"{B}/c"},
        {2: "The clicks “A”"},
    ),
    "comma in a query, and no last cell": Input(
        f"{HEADER}{A}?x=1,2&y=3,a\n{B},b,B\n", {"b": B}, {2: "“2&y=3” looks like the rest of the destination"}
    ),
    "an ending beside whole short links": Input(
        f"{ADDRESSES}{A},a,A,x\n{B},go.test/b,B,x\n{B}/c,go.test/c,C,y\n", {"a": A, "b": B, "c": f"{B}/c"}
    ),
    "a number after clicks that are none": Input(
        f"{CLICKS}{A},a,A,many,2024\n{B},b,B,1,2025\n{B}/c,c,C,2,\n",
        {"a": A, "b": B, "c": f"{B}/c"},
        {},
        "clicks, which are no whole",
    ),
    "a number after clicks that are missing": Input(
        f"{CLICKS}{A},a,A,n/a,2024\n{B},b,B,1,x\n{B}/c,c,C,2,\n",
        {"a": A, "b": B, "c": f"{B}/c"},
        {},
        "clicks, which are no whole",
    ),
    "a title like a query": Input(
        f"URL,Title,Slug\n{A}?x=1,Q&A = fun,a\n{B},R&D=fun,b\n",
        {"a": {"title": "Q&A = fun"}, "b": {"title": "R&D=fun"}},
    ),
    "semicolons": Input(f"URL;Slug\n{A}?x=1;2;a\n{B};b\n", {"b": B}, {2: "3 cells"}),
    "empty cells at the end of each row": Input(f"{HEADER}{A},a,A,,\n{B},b,B,,\n", {"a": A, "b": B}),
    "a separator at the end of each row": Input(f"URL,Slug\n{A},a,\n{B},b,\n", {"a": A, "b": B}),
    "blanks in cells that are too many": Input(f"URL,Slug\n{A},a, ,\t\n", {"a": A}),
    "a row that is short": Input(f"{HEADER}{A},a\n{B}\n", {"a": A, B: B}, {}, "2 rows have fewer cells"),
    "a line break in a cell without quotation marks": Input(
        f"Title,URL,Slug\nOne\nmore,{A},a\nB,{B},b\n", {"a": A, "b": B}, {2: "no destination"}, "fewer cells"
    ),
    "only cells that are not imported": Input(f"URL,Remark\n{A},x\n,Total\n", {A: A}, {3: "no destination"}),
    "one column and a comma": Input(f"URL\n{A}?x=1,2\n{B}\n", {B: B}, {2: "2 cells"}),
    "a quotation mark that is never closed": Input(
        f'{HEADER}{A},a,"5 inch\n{B},b,B\n{B}/c,c,C\n', {"b": B, "c": f"{B}/c"}, {2: "never closed"}
    ),
    "a quotation mark that is closed by another row": Input(
        f'{HEADER}{A},a,"5 inch\n{B},b,B\n{B}/c,c,6"\n', {"b": B, "c": f"{B}/c"}, {2: "never closed"}
    ),
    "cells with line breaks": Input(f'Title,URL,Slug\n"One\nTwo, ""three""",{A},a\nB,{B},b\n', {"a": A, "b": B}),
    "blanks before quotation marks": Input(f'{HEADER}{A}, a, "One, two"\n', {"a": {"title": "One, two"}}),
    "blanks around quotation marks": Input(
        f'URL , Slug , Title\n"{A}" , "a" , "One, two"\n', {"a": {"title": "One, two"}}
    ),
    "a quotation mark that is not doubled": Input(
        f'{HEADER}{A},a,"One "two" three"\n{B},b,B\n', {"b": B}, {2: "doubled"}
    ),
    "backslashes before quotation marks": Input(
        f'{HEADER}{A},a,"He said \\"hi, you\\""\n{B},b,"C:\\\\new"\n',
        {"a": {"title": 'He said "hi, you"'}, "b": {"title": "C:\\new"}},
        {},
        "Backslashes",
    ),
    "a backslash at the end of a cell": Input(f'{HEADER}{A},a,"C:\\"\n{B},b,B\n', {"a": {"title": "C:\\"}, "b": B}),
}

REPEATED = {
    "another title": Input(
        f"{HEADER}{A},a,One\n{A},a,Two\n", {"a": {"title": "One"}}, {3: "Line 2 has the same short"}
    ),
    "the same row": Input(f"{HEADER}{A},a,A\n{B},b,B\n{A},a,A\n", {"a": A, "b": B}, {4: "Line 2"}),
    "an address in two spellings": Input(
        f"URL,Short URL\n{A},https://S.example/a\n{B},s.example/a\n", {"a": A}, {3: "Line 2"}
    ),
    "the same ID": Input(f"ID,URL,Slug\n7,{A},a\n7,{B},b\n", {"a": A}, {3: "Line 2 has the same ID, 7"}),
    "destinations without short links": Input(
        f"URL,Title\n{A},One\n{A},Two\n{B},B\n", {A: A, B: B}, {3: "name no short"}
    ),
    "three times": Input(f"{HEADER}{A},a,\n{B},a,\n{A}/c,a,\n", {"a": A}, {3: "Line 2", 4: "Line 2"}),
    "one slug on two domains": Input(f"URL,Domain,Slug\n{A},x.example,a\n{B},y.example,a\n", {"a": B}),
    "two slugs of one destination": Input(f"{HEADER}{A},a,\n{A},b,\n", {"a": A, "b": A}),
}

STATUSES = {
    word: Input(f"URL,Slug,Status\n{A},a,{word}\n", {"a": {"is_enabled": is_enabled}})
    for word, is_enabled in {
        **dict.fromkeys(("Active", "LIVE", "enabled", "1", "true", "Archived", "on", "published"), True),
        **dict.fromkeys(
            ("Removed", "off", "0", "FALSE", "paused", "expired", "trashed", "Unpublished", "draft"), False
        ),
    }.items()
} | {
    "an unknown word": Input(f"URL,Slug,Status\n{A},a,Zombie\n", {"a": {"is_enabled": False}}, {}, "“Zombie”"),
    "no word": Input(f"URL,Slug,Status\n{A},a,\n", {"a": {"is_enabled": True}}),
    "a column named Enabled": Input(f"URL,Slug,Enabled\n{A},a,no\n", {"a": {"is_enabled": False}}),
    "statuses of redirects": Input(
        f"URL,Slug,Status\n{A},a,301\n{B},b,302\n", {"a": {"is_enabled": True}, "b": B}, {}, "not imported: Status"
    ),
}

COLUMNS = {
    "an ending as short link": Input(f"Short URL,URL\na,{A}\n/b,{B}\n", {"a": A, "b": B}),
    "an ending of two segments": Input(f"Short URL,URL\npromo/a,{A}\n", {"promo/a": A}),
    "an encoded ending": Input(f"Short URL,URL\ncaf%C3%A9,{A}\n", {"café": A}),
    "a host without ending": Input(
        f"Short URL,URL\nhttps://s.example/,{A}\ns.example,{B}\n", {}, {2: "slug", 3: "slug"}
    ),
    "a port": Input(f"Short URL,URL\nlocalhost:8000/a,{A}\n", {"a": A}),
    "a link as slug": Input(f"Slug,URL\nhttps://s.example/a,{A}\n", {"a": A}),
    "a URL as domain": Input(f"Domain,Slug,URL\nhttps://s.example/,a,{A}\n", {"a": A}),
    "code of redirects": Input(f"URL,Code,Title\n{A},301,A\n{B},301,B\n", {A: A, B: B}, {}, "not imported: Code"),
    "code of one redirect": Input(f"URL,Code\n{A},302\n", {A: A}, {}, "not imported: Code"),
    "code of links": Input(f"URL,Code\n{A},301\n{B},b\n", {"301": A, "b": B}),
    "code beside a slug": Input(f"URL,Code,Slug\n{A},301,a\n", {"a": A}, {}, "not imported: Code"),
    "numbers as slugs": Input(f"URL,Slug\n{A},301\n", {"301": A}),
    "two columns of URLs": Input(f"URL,Target URL\nhttps://s.example/a,{A}\n", {A: A}, {}, "not imported: URL"),
    "a URL and its redirect": Input(
        f"Redirect URL,Original URL\nhttps://s.example/a,{A}\n", {A: A}, {}, "Redirect URL"
    ),
    "names in other scripts": Input(f"Короткий URL,Длинный URL,URL\nx,y,{A}\n", {A: A}, {}, "Короткий URL"),
    "commas in names": Input(f"URL;Slug;Tags (a, b, c)\n{A};a;x\n", {"a": A}, {}, "Tags (a"),
    "a blank line before the names": Input(f"\n\nURL,Slug\n{A},a\n", {"a": A}),
    "invisible characters": Input(f"\u200bURL,Slug\u00ad\n{A}\u2060,\u200ea\u200d\n", {"a": A}),
}


def dates(*values: str, name: str = "Created at") -> str:
    rows = (f'https://www.example.com/{number},{number},"{value}"\n' for number, value in enumerate(values))
    return f"URL,Slug,{name}\n{''.join(rows)}"


def created(*times: datetime | None) -> dict[str, Any]:
    return {str(number): {"created_at": at} for number, at in enumerate(times)}


def day(year: int, month: int, day: int, *time: int) -> datetime:
    return datetime(year, month, day, *time, tzinfo=UTC)


DATES = {
    "days of Excel": Input(
        dates("45413", "45413.5", "45413,25"), created(day(2024, 5, 1), day(2024, 5, 1, 12), day(2024, 5, 1, 6))
    ),
    "days before marks": Input(
        dates("20240131", "202401310930", "20240131093005"),
        created(day(2024, 1, 31), day(2024, 1, 31, 9, 30), day(2024, 1, 31, 9, 30, 5)),
    ),
    "since 1970": Input(
        dates("1580702706", "1580702706000", "1580702706000000", "1580702706.25"),
        created(*[day(2020, 2, 3, 4, 5, 6)] * 3, datetime(2020, 2, 3, 4, 5, 6, 250_000, tzinfo=UTC)),
    ),
    "numbers that are no time": Input(
        dates("12345", "99999999", "1", "123456789012345678901"), {}, {2: "12345 is not", 3: "", 4: "", 5: ""}
    ),
    "day first": Input(dates("31/01/2024", "02/03/2024 09:30"), created(day(2024, 1, 31), day(2024, 3, 2, 9, 30))),
    "month first": Input(
        dates("1/31/2024 9:30 PM", "2/3/2024 12:00 AM"), created(day(2024, 1, 31, 21, 30), day(2024, 2, 3))
    ),
    "dots": Input(dates("31.1.2024", "3.2.2024 9:30:05"), created(day(2024, 1, 31), day(2024, 2, 3, 9, 30, 5))),
    "two digits of a year": Input(dates("31-01-24", "05-06-98"), created(day(2024, 1, 31), day(1998, 6, 5))),
    "year first": Input(
        dates("2024/01/31", "2024.2.3", "2024-1-5"), created(day(2024, 1, 31), day(2024, 2, 3), day(2024, 1, 5))
    ),
    "either order": Input(
        dates("03/04/2024", "05/06/2024"),
        {},
        {2: "2024-04-03 (day/month/year) or 2024-03-04 (month/day/year)", 3: "or"},
    ),
    "both orders": Input(
        dates("31/01/2024", "01/31/2024", "03/04/2024"), created(day(2024, 1, 31), day(2024, 1, 31)), {4: "both kinds"}
    ),
    "days that are months": Input(dates("05/05/2024"), created(day(2024, 5, 5))),
    "a day that does not exist": Input(
        dates("2024-02-30", "31/02/2024", "2024-13-01"), {}, {2: "not a time", 3: "", 4: ""}
    ),
    "month names": Input(
        dates("31 Jan 2024", "January 31, 2024 9:30 am", "31-Jan-24", "Sept 1st, 2024", "1. May 2024"),
        created(day(2024, 1, 31), day(2024, 1, 31, 9, 30), day(2024, 1, 31), day(2024, 9, 1), day(2024, 5, 1)),
    ),
    "dates of programs": Input(
        dates(
            "Wed, 31 Jan 2024 09:30:00 GMT",
            "Wed Jan 31 2024 09:30:00 GMT+0100 (CET)",
            "1/31/2024, 9:30:00\u202fAM",
            "2024-01-31 09:30:00 +0200",
            "2024-01-31 09:30:00 UTC",
        ),
        created(
            day(2024, 1, 31, 9, 30),
            day(2024, 1, 31, 8, 30),
            day(2024, 1, 31, 9, 30),
            day(2024, 1, 31, 7, 30),
            day(2024, 1, 31, 9, 30),
        ),
    ),
    "months in other languages": Input(dates("31 janvier 2024", "31. Jänner 2024"), {}, {2: "not a time", 3: ""}),
    "no date": Input(
        dates("0000-00-00 00:00:00", "2020-00-00", "0", "NULL", "never", "00/00/0000"),
        created(*[None] * 6),
        {},
        "“2020-00-00”, which is no date",
    ),
    "an hour that does not exist": Input(dates("31/01/2024 25:00", "1/31/2024 13:00 PM"), {}, {2: "not a time", 3: ""}),
}

COUNTS = {
    text: Input(
        f"URL;Slug;Clicks\n{A};a;{text}\n", {"a": {"clicks": clicks}}, {}, "" if clicks is not None else "the clicks"
    )
    for text, clicks in {
        "1,234": 1234,
        "1.234": 1234,
        "1 234": 1234,
        "1\u00a0234": 1234,
        "1'234'567": 1234567,
        "1,23,456": 123456,
        "17.0": 17,
        "17,00": 17,
        "1.234,00": 1234,
        "0": 0,
        "12": 12,
        **dict.fromkeys(("12,5", "12.5", "1.2E+03", "-3", "1k", "about 5", "1,2345", "1.23.456"), None),
    }.items()
}

GERMAN = "Grüße aus Köln,Übersicht,Schöne Schuhe,Frühjahr,Öffnungszeiten,Straße,Büro München,Käse"
RUSSIAN = "Скидки весной,Главная,Каталог,Доставка,Новости,Контакты,Москва,Ещё больше"
POLISH = "Zażółć gęślą jaźń,Łódź,Wiosenne zniżki,Kraków,Święta,Książki,Źródło,Mężczyźni"
JAPANESE = "春のセール,会社概要,お問い合わせ,新着情報,商品カタログ,東京都,ニュース,ありがとう"


def titles(words: str, encoding: str) -> Input:
    """A file with these titles, which are read as they are."""
    rows = [f"{A}/{number},{number},{word}\n" for number, word in enumerate(words.split(","))]
    expected = {str(number): {"title": word} for number, word in enumerate(words.split(","))}
    said = "" if encoding.startswith("utf") else "By its letters"
    return Input((HEADER + "".join(rows)).encode(encoding), expected, {}, said)


ENCODINGS = {
    "utf-8": titles(GERMAN, "utf-8"),
    "utf-8 with a mark": titles(RUSSIAN, "utf-8-sig"),
    "utf-16": titles(JAPANESE, "utf-16"),
    "utf-32": titles(JAPANESE, "utf-32"),
    "cp1252": titles(GERMAN, "cp1252"),
    "mac_roman": titles(GERMAN, "mac_roman"),
    "cp1251": titles(RUSSIAN, "cp1251"),
    "cp1250": titles(POLISH, "cp1250"),
    "iso8859-2": titles(POLISH, "iso8859-2"),
    "cp932": titles(JAPANESE, "cp932"),
    "one row of another encoding": Input(
        f"{HEADER}{A},a,Grüße\n".encode() + f"{B},b,Café\n".encode("cp1252"),
        {"a": {"title": "Grüße"}},
        {3: "UTF-8"},
        "although a line is not",
    ),
    "a destination of another encoding": Input(
        f"{HEADER}{A},a,Grüße\n{A}/ü,b,\n".encode() + f"{B}/é,c,C\n".encode("cp1252"),
        {"a": A, "b": f"{A}/ü"},
        {4: "The row has bytes that are not UTF-8"},
        "although a line is not",
    ),
    "other bytes in a column that is not imported": Input(
        f"URL,Slug,Remark\n{A},a,Grüße\n".encode() + f"{B},b,Café\n".encode("cp1252"),
        {"a": A, "b": B},
        {},
        "although a line is not",
    ),
    "bytes that no letter has": Input(
        f"{HEADER}{A},a,".encode() + b"Caf\xe9 \x81\n" + f"{B},b,Café\n".encode("cp1252"),
        {"b": {"title": "Café"}},
        {2: "bytes that are not Windows-1252"},
        "",
        {"encoding": "cp1252"},
    ),
    "an encoding that is entered": Input(
        f"{HEADER}{A},a,Ünïcödé\n".encode("cp437"), {"a": {"title": "Ünïcödé"}}, {}, "", {"encoding": "cp437"}
    ),
}
KINDS = {
    "cells": CELLS,
    "repeated": REPEATED,
    "status": STATUSES,
    "columns": COLUMNS,
    "dates": DATES,
    "counts": COUNTS,
    "encodings": ENCODINGS,
}


def fields_of(link: SourceLink, names: Any) -> dict[str, Any]:
    return {name: getattr(link, name) for name in names}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, inputs in KINDS.items() for name in inputs])
async def test_reads_rows_or_refuses_them(tmp_path: Path, kind: str, name: str) -> None:
    expected = KINDS[kind][name]
    page: LinkPage = await csv_source(
        tmp_path / "links.csv", expected.content, timezone=UTC, **expected.options
    ).link_page(None)
    found = {link.address.path if link.address else link.destination_url: link for link in page.links}
    reasons = {row.reason.partition(":")[0]: row.reason for row in page.refused}
    assert found.keys() == expected.links.keys(), page
    for path, values in expected.links.items():
        values = values if isinstance(values, dict) else {"destination_url": values}  # noqa: PLW2901
        assert fields_of(found[path], values) == values
    assert reasons.keys() == {f"Line {line}" for line in expected.refused}
    assert all(part in reasons[f"Line {line}"] for line, part in expected.refused.items()), reasons
    said = [*page.warnings, *(text for link in page.links for text in link.left_out)]
    assert any(expected.said in text for text in said) if expected.said else not [t for t in said if "Columns" not in t]
    assert page.total == len(page.links) + len(page.refused)
