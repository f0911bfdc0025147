"""SQL dumps as tools write them, by kind: each row is read as what it is, or refused by name."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from resources.imports.sources.reading import Waits, read_pages

from waypost.outbound import Outbound
from waypost.resources.imports.source import HasClicks, LinkPage, SourceError, SourceOptions
from waypost.resources.imports.sources import open_source
from waypost.resources.imports.sources.yourls import ASSUMED_UTC

CREATE = (
    "CREATE TABLE `yourls_url` (\n `keyword` varchar(100),\n `url` text,\n `title` text,\n `timestamp` timestamp\n);\n"
)
LOG = (
    "CREATE TABLE `yourls_log` (\n `click_id` int,\n `click_time` datetime,\n `shorturl` text,\n `referrer` text\n);\n"
)
CLICK = "INSERT INTO `yourls_log` VALUES (1,'2024-07-01 12:00:00','a','direct');\n"
URL = "https://www.example.com/"
NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)


def rows(*names: str, title: str = "T", at: str = "2024-07-01 12:00:00", table: str = "`yourls_url`") -> str:
    values = ",".join(f"('{name}','{URL}{name}','{title}','{at}')" for name in names)
    return f"INSERT INTO {table} VALUES {values};\n"


@dataclass
class Dump:
    content: str | bytes
    links: dict[str, Any] = field(default_factory=dict)
    """By keyword: the destination, or fields and their values."""
    refused: dict[int, str] = field(default_factory=dict)
    """By the number of the row: a part of the reason."""
    said: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def latin(charset: str, encoding: str, title: str, said: str) -> Dump:
    return Dump(f"{charset}{CREATE}{rows('a', title=title)}".encode(encoding), {"a": {"title": title}}, {}, said)


CHARSETS = {
    "latin1 in a comment": latin(
        "/*!40101 SET NAMES latin1 */;\n", "cp1252", "Café “Größe”", "Windows-1252, which it names"
    ),
    "latin1 of MariaDB": latin("/*M!100616 SET NAMES latin1 */;\n", "cp1252", "Café", "Windows-1252"),
    "cp1251 in a statement": latin("SET NAMES 'cp1251';\n", "cp1251", "Скидки", "Windows-1251, which it names"),
    "latin2": latin("SET NAMES latin2;\n", "iso8859-2", "Łódź", "ISO 8859-2"),
    "utf8mb4": latin("/*!50503 SET NAMES utf8mb4 */;\n", "utf-8", "Łódź 🎉", ""),
    "a mark": latin("", "utf-8-sig", "Łódź", ""),
    "none, and a guess": latin(
        "", "cp1252", "Grüße aus Köln. Schöne Schuhe für Mädchen, Öffnungszeiten", "By its letters"
    ),
    "latin1, although the letters are UTF-8": latin("SET NAMES latin1;\n", "utf-8", "Café", "its letters are UTF-8"),
    "an encoding that is entered": Dump(
        f"SET NAMES latin1;\n{CREATE}{rows('a', title='Ünï')}".encode("cp437"),
        {"a": {"title": "Ünï"}},
        {},
        "",
        {"encoding": "cp437"},
    ),
    "a row of other bytes": Dump(
        f"SET NAMES utf8mb4;\n{CREATE}{rows('a', 'b', title='Größe')}".encode() + rows("c", "é").encode("cp1252"),
        {"a": f"{URL}a", "b": f"{URL}b", "c": f"{URL}c"},
        {4: "of another encoding"},
        "although a line is not",
    ),
}

TIME_ZONES = {
    text: Dump(f"{text}{CREATE}{rows('a')}", {"a": {"created_at": NOON - timedelta(hours=hours)}})
    for text, hours in {
        "/*!40103 SET TIME_ZONE='+00:00' */;\n": 0,
        'SET time_zone = "+05:30";\n': 5.5,
        "SET SESSION time_zone='-03:00';\n": -3,
        "/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;\n/*!40103 SET TIME_ZONE='Asia/Tokyo' */;\n": 9,
        "SET NAMES utf8, TIME_ZONE = 'UTC';\n": 0,
        "SET time_zone = 'SYSTEM';\n": 2,
        "SET TIME_ZONE=@OLD_TIME_ZONE;\n": 2,
        "-- SET TIME_ZONE='+09:00';\n": 2,
        "": 2,
    }.items()
}
"""The zone that is entered is two hours ahead."""

NAMES = {
    "double quotation marks": Dump((CREATE + rows("a")).replace("`", '"'), {"a": f"{URL}a"}),
    "no quotation marks": Dump((CREATE + rows("a")).replace("`", ""), {"a": f"{URL}a"}),
    "with a database": Dump(
        f"{CREATE}{rows('a', table='`shop`.`yourls_url`')}".replace("TABLE `", "TABLE `shop`.`"), {"a": f"{URL}a"}
    ),
    "keys after the columns": Dump(
        CREATE.replace("timestamp\n)", "timestamp,\n PRIMARY KEY (keyword),\n UNIQUE KEY x (url)\n)").replace("`", '"')
        + rows("a", table='"yourls_url"'),
        {"a": f"{URL}a"},
    ),
    "another table of double quotation marks": Dump(
        f'CREATE TABLE "x" (\n "keyword" int\n);\nINSERT INTO "x" VALUES (1);\n{CREATE}{rows("a")}', {"a": f"{URL}a"}
    ),
    "names of columns in the statement": Dump(
        f"""INSERT INTO "u" ("url", "keyword", "timestamp") VALUES ('{URL}a','a','2024-07-01 12:00:00');""",
        {"a": f"{URL}a"},
    ),
}

ZEROS = {
    text: Dump(f"{CREATE}{rows('a', at=text)}", {"a": {"created_at": None}}, {}, f"“{text}”, which is no date")
    for text in ("0000-00-00 00:00:00", "2020-00-00 00:00:00", "2020-05-00", "2020-00-05 10:00:00", "0000-00-00")
} | {"a month that does not exist": Dump(f"{CREATE}{rows('a', at='2020-13-01')}", {}, {1: "timestamp is not a time"})}

KINDS = {"charset": CHARSETS, "time zone": TIME_ZONES, "names": NAMES, "zero": ZEROS}


async def read(directory: Path, dump: Dump) -> LinkPage:
    file = directory / "yourls.sql"
    file.write_bytes(dump.content if isinstance(dump.content, bytes) else dump.content.encode())
    options = SourceOptions(file=file, timezone=timezone(timedelta(hours=2)), **dump.options)
    source = open_source("yourls", options, Outbound(), Waits())
    await source.check()
    [page] = await read_pages(source)
    return page


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, dumps in KINDS.items() for name in dumps])
async def test_reads_rows_or_refuses_them(tmp_path: Path, kind: str, name: str) -> None:
    dump = KINDS[kind][name]
    page = await read(tmp_path, dump)
    found = {link.source_id: link for link in page.links}
    assert found.keys() == dump.links.keys(), page
    for keyword, expected in dump.links.items():
        fields = expected if isinstance(expected, dict) else {"destination_url": expected}
        assert {field: getattr(found[keyword], field) for field in fields} == fields
    reasons = {int(row.reason.split()[1]): row.reason for row in page.refused}
    assert reasons.keys() == dump.refused.keys()
    assert all(part in reasons[number] for number, part in dump.refused.items()), reasons
    said = [*page.warnings, *(text for link in page.links for text in link.left_out)]
    assert any(dump.said in text for text in said) if dump.said else not said


OTHER = CREATE.replace("yourls_url", "blog_url")
SITES = {
    "two prefixes": (CREATE + OTHER + rows("a") + rows("a", table="`blog_url`"), "yourls_url and blog_url"),
    "two databases": (f"USE `x`;\n{CREATE}{rows('a')}USE `y`;\n{CREATE}{rows('a')}", "x.yourls_url and y.yourls_url"),
    "names with databases": (
        "".join(f"INSERT INTO {name}.u (keyword, url, timestamp) VALUES ('a','b','c');" for name in ("x", "y")),
        "x.u and y.u",
    ),
    "two dumps in one file": (f"{CREATE}{rows('a')}{CREATE}{rows('b')}", "yourls_url and yourls_url"),
    "two tables in turns": (
        CREATE + OTHER + rows("a") + rows("b", table="`blog_url`") + rows("c"),
        "yourls_url and blog_url",
    ),
}


@pytest.mark.parametrize("name", SITES)
async def test_names_the_tables_of_several_sites(tmp_path: Path, name: str) -> None:
    content, names = SITES[name]
    with pytest.raises(SourceError, match=names):
        await read(tmp_path, Dump(content))


@pytest.mark.parametrize(
    "content",
    [
        CREATE + OTHER + rows("a"),
        OTHER + CREATE + rows("a"),
        CREATE + rows("a") + LOG + CLICK,
        CREATE + rows("a") + CREATE,
    ],
)
async def test_reads_the_only_site_that_has_links(tmp_path: Path, content: str) -> None:
    assert [link.source_id for link in (await read(tmp_path, Dump(content))).links] == ["a"]


async def test_reads_rows_of_several_statements_among_others(tmp_path: Path) -> None:
    content = CREATE + rows("a", "b") + LOG + CLICK + rows("c") + CLICK + rows("d", "e")
    page = await read(tmp_path, Dump(content))
    assert [(link.source_id, link.place) for link in page.links] == [
        (name, f"Row {number} of yourls_url") for number, name in enumerate("abcde", 1)
    ]


async def test_counts_clicks_that_it_cannot_read(tmp_path: Path) -> None:
    file = tmp_path / "yourls.sql"
    times = "2024-07-01 12:00:00", "0000-00-00 00:00:00", "yesterday"
    clicks = "".join(CLICK.replace("2024-07-01 12:00:00", at) for at in times)
    file.write_text(f"SET TIME_ZONE='+05:00';\n{CREATE}{rows('a')}{LOG}{clicks}")
    source = open_source("yourls", SourceOptions(file=file, timezone=ZoneInfo("Europe/Berlin")), Outbound(), Waits())
    page = await cast(HasClicks, source).click_page(None)
    assert ([click.at for click in page.clicks], page.unreadable) == ([NOON - timedelta(hours=2)], 2)
    assert not page.warnings
    without_zone = open_source("yourls", SourceOptions(file=file), Outbound(), Waits())
    assert not (await without_zone.link_page(None)).warnings
    assert (await cast(HasClicks, without_zone).click_page(None)).warnings == [ASSUMED_UTC]


async def test_refuses_charsets_whose_letters_contain_backslashes(tmp_path: Path) -> None:
    content = f"SET NAMES sjis;\n{CREATE}{rows('a', title='表')}".encode("cp932")
    with pytest.raises(SourceError, match="default-character-set=utf8mb4"):
        await read(tmp_path, Dump(content))
