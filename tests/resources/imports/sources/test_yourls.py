from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from resources.imports.servers.scripted import as_json
from resources.imports.servers.yourls import PASSWORD, SIGNATURE, Yourls, yourls_link
from resources.imports.sources.reading import Waits, read_clicks, read_links, read_pages, source_of
from servers import ALLOW

from waypost.outbound import Outbound
from waypost.resources.imports.source import (
    Address,
    SourceClick,
    SourceError,
    SourceLink,
    SourceOptions,
    WrongToken,
)
from waypost.resources.imports.sources import open_source
from waypost.resources.imports.sources import yourls as importer
from waypost.resources.imports.sources.yourls import ASSUMED_UTC, YourlsDump

DUMP = r"""/*M!999999\- enable the sandbox mode */
-- MariaDB dump 10.19; it's made by a test
/*!40101 SET NAMES utf8mb4 */;
DROP TABLE IF EXISTS `other_log`;
CREATE TABLE `other_log` (`shorturl` int, KEY `x` (`shorturl`));
INSERT INTO `other_log` VALUES (1),(2);
CREATE TABLE `yourls_log` (
  `click_id` int(11) NOT NULL AUTO_INCREMENT COMMENT 'a;b',
  `click_time` datetime NOT NULL,
  `shorturl` varchar(100) CHARACTER SET utf8mb4 NOT NULL,
  `referrer` varchar(200) NOT NULL,
  `user_agent` varchar(255) NOT NULL,
  `ip_address` varchar(41) NOT NULL,
  `country_code` char(2) NOT NULL,
  PRIMARY KEY (`click_id`),
  KEY `shorturl` (`shorturl`)
) ENGINE=InnoDB;
LOCK TABLES `yourls_log` WRITE;
/*!40000 ALTER TABLE `yourls_log` DISABLE KEYS */;
INSERT INTO `yourls_log` VALUES
(1,'2024-07-01 12:00:00','sale','direct','Mozilla/5.0 (it\'s; "fine")','203.0.113.7','DE'),
(2,'2024-01-01 12:00:00','sale','https://t.co/x','','',''),
(3,'0000-00-00 00:00:00','sale','direct','','','');
UNLOCK TABLES;
CREATE TABLE `yourls_options` (`option_id` bigint, `option_value` longtext);
INSERT INTO `yourls_options` (`option_id`, `option_value`) VALUES (1, 'INSERT INTO `yourls_url` VALUES (1);');
INSERT IGNORE INTO `shop`.`yourls_url` (`keyword`, `url`, `title`, `timestamp`, `ip`, `clicks`) VALUES
	('sale', 'https://www.example.com/?a=1&b=\'2\'', 'It''s \\ a\nsale, (50 %)', '2020-07-01 12:00:00', '', 42),
	('Größe', _binary 0x68747470733a2f2f7777772e6578616d706c652e636f6d, NULL, '2020-01-01 12:00:00', '', 0);
"""


async def test_reads_all_fields_of_the_api() -> None:
    yourls = Yourls(yourls_link(1, clicks="42"))
    with source_of("yourls", yourls, token=SIGNATURE) as source:
        (page,) = await read_pages(source)
    assert page.links == [
        SourceLink(
            "sho.example.com/page1",
            Address("sho.example.com", "page1"),
            "https://www.example.com/1",
            title="Page 1",
            created_at=datetime(2020, 7, 1, 12, tzinfo=UTC),
            clicks=42,
        )
    ]
    assert page.warnings == [ASSUMED_UTC]


async def test_reads_times_in_the_time_zone_that_is_given() -> None:
    with Yourls(yourls_link(1)).running() as url:
        options = SourceOptions(url=url, token=SIGNATURE, timezone=ZoneInfo("Europe/Berlin"))
        (page,) = await read_pages(open_source("yourls", options, Outbound(allow=ALLOW), Waits()))
    assert page.links[0].created_at == datetime(2020, 7, 1, 10, tzinfo=UTC)
    assert not page.warnings


async def test_signs_in_with_a_password_to_a_site_in_a_subdirectory() -> None:
    yourls = Yourls(yourls_link(1, shorturl="https://example.com/y/page1"), base="/y")
    with yourls.running() as url:
        options = SourceOptions(url=f"{url}/y/", token=PASSWORD)
        (link,) = await read_links(open_source("yourls", options, Outbound(allow=ALLOW), Waits()))
    assert link.address == Address("example.com", "y/page1")
    assert link.source_id == "example.com/page1", "as in a dump"


async def test_reads_all_pages_although_links_are_created_and_deleted_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importer, "PAGE", 50)
    yourls = Yourls(*map(yourls_link, range(160)))
    yourls.overlap = 2

    def change(_: object) -> None:
        if len(yourls.requests) % 2:
            yourls.links.append(yourls_link(1000 + len(yourls.requests)))
        else:
            del yourls.links[-12:]

    yourls.before = change
    with source_of("yourls", yourls, token=SIGNATURE) as source:
        found = {link.source_id for link in await read_links(source)}
    assert found >= {f"sho.example.com/page{number}" for number in range(120)}


async def test_reads_an_installation_without_links() -> None:
    with source_of("yourls", Yourls(), token=SIGNATURE) as source:
        assert await read_links(source) == []


@pytest.mark.parametrize("status", [200, 403])
async def test_refuses_a_wrong_signature_without_showing_it(status: int) -> None:
    yourls = Yourls()
    yourls.faults.append(lambda _: as_json({"message": "Please log in", "errorCode": 403}, status))
    with source_of("yourls", yourls, token="wrong-one") as source, pytest.raises(WrongToken) as error:
        await source.check()
    assert "wrong-one" not in str(error.value)


async def test_a_url_without_yourls_is_named_without_the_signature() -> None:
    with source_of("yourls", Yourls(base="/y"), token=SIGNATURE) as source, pytest.raises(SourceError) as error:
        await source.check()
    assert "/yourls-api.php (404)" in str(error.value)
    assert SIGNATURE not in str(error.value)


def dump_of(directory: Path, content: str | bytes, site: str | None = "sho.example.com") -> YourlsDump:
    file = directory / "yourls.sql"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    options = SourceOptions(file=file, site=site, timezone=ZoneInfo("Europe/Berlin"))
    source = open_source("yourls", options, Outbound(), Waits())
    assert isinstance(source, YourlsDump)
    return source


async def test_reads_all_fields_of_a_dump(tmp_path: Path) -> None:
    source = dump_of(tmp_path, DUMP)
    await source.check()
    assert await read_links(source) == [
        SourceLink(
            "sho.example.com/sale",
            Address("sho.example.com", "sale"),
            "https://www.example.com/?a=1&b='2'",
            title="It's \\ a\nsale, (50 %)",
            created_at=datetime(2020, 7, 1, 10, tzinfo=UTC),
            clicks=42,
            place="Row 1 of shop.yourls_url",
        ),
        SourceLink(
            "sho.example.com/Größe",
            Address("sho.example.com", "Größe"),
            "https://www.example.com",
            created_at=datetime(2020, 1, 1, 11, tzinfo=UTC),
            clicks=0,
            place="Row 2 of shop.yourls_url",
        ),
    ]
    assert await read_clicks(source) == [
        SourceClick(
            "sho.example.com/sale",
            datetime(2024, 7, 1, 10, tzinfo=UTC),
            source_id="1",
            user_agent='Mozilla/5.0 (it\'s; "fine")',
            country="DE",
            ip="203.0.113.7",
        ),
        SourceClick(
            "sho.example.com/sale",
            datetime(2024, 1, 1, 11, tzinfo=UTC),
            source_id="2",
            referrer="https://t.co/x",
        ),
    ]


async def test_continues_a_dump_at_a_cursor_in_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "PAGE", 10)
    rows = [f"('k{number}','https://www.example.com/{number}','2020-01-01 00:00:00')" for number in range(35)]
    create = "CREATE TABLE `url` (\n `keyword` int,\n `url` text,\n `timestamp` timestamp\n);"
    inserts = (f"INSERT INTO `url` VALUES {','.join(some)};" for some in (rows[:10], rows[10:15], rows[15:]))
    dump = f"{create}{''.join(inserts)}INSERT INTO `other` VALUES (1);"
    first = await dump_of(tmp_path, dump).link_page(None)
    pages = [first]
    while (cursor := pages[-1].next_cursor) is not None:
        pages.append(await dump_of(tmp_path, dump).link_page(cursor))
    assert [link.address.path for page in pages for link in page.links] == [f"k{number}" for number in range(35)]


async def test_says_that_a_dump_of_the_links_alone_has_no_clicks(tmp_path: Path) -> None:
    source = dump_of(tmp_path, "CREATE TABLE `url` (\n `keyword` int,\n `url` text,\n `timestamp` timestamp\n);", None)
    await source.check()
    assert await read_links(source) == []
    with pytest.raises(SourceError, match="dump yourls_log too"):
        await read_clicks(source)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\x1f\x8b\x08", "compressed"),
        (DUMP.encode("utf-16"), "UTF-16"),
        ("SELECT 1;", "no table with the columns keyword, timestamp, url"),
        (DUMP[:-40], "breaks off"),
        ("INSERT INTO url (keyword, url, timestamp) VALUES (1, 2);", "breaks off"),
        ("INSERT INTO url (keyword, url, timestamp) VALUES (1, 2, 'x", "breaks off"),
        ("INSERT INTO url (keyword, url, timestamp) VALUES ", "breaks off"),
        ("INSERT INTO url (keyword, url, timestamp) VALUES (1, 2, NULL)", "breaks off"),
        ("/* '", "no table"),
    ],
)
async def test_refuses_what_is_no_dump(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        await read_links(dump_of(tmp_path, content))


TABLE = "CREATE TABLE `url` (\n `keyword` int,\n `url` text,\n `timestamp` timestamp\n);\n"


@pytest.mark.parametrize(
    "content",
    [
        "x /*" * 250_000,
        "x '" + r"\'" * 500_000 + "\\",
        'x "' + r"\"" * 500_000 + "\\",
        "CREATE TABLE `a` (\n" + "\n" * 1_000_000 + ");",
        "INSERT INTO x (;" * 60_000,
    ],
)
async def test_reads_each_byte_of_a_hostile_dump_once(tmp_path: Path, content: str) -> None:
    """A search for the end that begins again at each byte would take hours, in which the worker does nothing else."""
    assert await read_links(dump_of(tmp_path, TABLE + content)) == []


async def test_refuses_a_row_that_fills_the_memory(tmp_path: Path) -> None:
    row = f"INSERT INTO `url` VALUES ('a', '{'x' * 300_000}', NULL);"
    with pytest.raises(SourceError, match="breaks off"):
        await read_links(dump_of(tmp_path, TABLE + row))


async def test_ignores_tables_with_too_many_columns(tmp_path: Path) -> None:
    columns = "".join(f"\n `c{number}` int," for number in range(200))
    with pytest.raises(SourceError, match="no table with the columns"):
        await read_links(dump_of(tmp_path, TABLE.replace("(", f"({columns}")))


async def test_refuses_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read: No such file"):
        await YourlsDump(tmp_path / "missing.sql", SourceOptions()).check()
