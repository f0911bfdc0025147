"""Files and answers of services that are small and would become much in memory, for attacks and for tests."""

import hashlib
import io
import json
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

THEN = "2026-01-01T00:00:00Z"
_ROW = 16 << 20
"""Bytes. Just below what a line of an archive once could have."""


class Upload(NamedTuple):
    source: str
    name: str
    content: Callable[[], bytes]


def archive(files: Mapping[str, bytes], *, method: int = zipfile.ZIP_DEFLATED, **fields: Any) -> bytes:
    """Return an archive whose manifest is right."""
    listed = {
        name: {"rows": data.count(b"\n"), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in files.items()
    }
    manifest = {"format": "waypost-export", "version": 1, "shared_domain": "old.example", "files": listed, **fields}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as out:
        for name, data in {**files, "manifest.json": json.dumps(manifest).encode()}.items():
            out.writestr(name, data)
    return target.getvalue()


def link(number: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"01890000-0000-7000-8000-{number:012x}",
        "slug": f"slug-{number}",
        "hostname": "old.example",
        "destination_url": f"https://example.com/{number}",
        "title": "A link",
        "created_at": THEN,
        "updated_at": THEN,
        **fields,
    }


def _lines(*rows: str) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def _with(row: Mapping[str, Any], name: str, text: str) -> str:
    """Return the row as JSON with a field that is `text`, without building its value here."""
    return f"{json.dumps(row)[:-1]}, {json.dumps(name)}: {text}}}"


def _mixed(blocks: Sequence[str], size: int) -> str:
    """Return so many characters that a ZIP file compresses well, but not so well that nobody would do it."""
    random = Random(1)  # the same each time
    return "".join(random.choices(blocks, k=size // len(blocks[0])))


def _pairs(size: int) -> str:
    blocks = ["{}," * number + "[]," * (64 - number) for number in range(64)]
    return f"[{_mixed(blocks, size)}0]"


def six_lines() -> bytes:
    """The archive of 587 KB that took the worker from 72 MB to 2.3 GB."""
    routing = _pairs(_ROW - 1_000)
    return archive({"links.ndjson": _lines(*(_with(link(number), "routing", routing) for number in range(6)))})


def _batch() -> bytes:
    routing = _pairs(250_000)
    return archive({"links.ndjson": _lines(*(_with(link(number), "routing", routing) for number in range(60)))})


def _allowed() -> bytes:
    """Links that have as many values as a row may have."""
    routing = _pairs(145_000)
    return archive({"links.ndjson": _lines(*(_with(link(number), "routing", routing) for number in range(60)))})


def _deep() -> bytes:
    return archive({"links.ndjson": _lines(_with(link(), "routing", "[" * 100_000 + "]" * 100_000))})


def _tags() -> bytes:
    tags = f"[0{_mixed([',0' * 32, ',1' * 32], 800_000)}]"
    return archive({"links.ndjson": _lines(*(_with(link(number), "tags", tags) for number in range(20)))})


def _domains() -> bytes:
    rows = (json.dumps({"hostname": f"{number}.{'x' * 60}.example", "root_url": None}) for number in range(300_000))
    return archive({"links.ndjson": b"", "domains.ndjson": _lines(*rows)})


def _pixels() -> bytes:
    row = {"id": link()["id"], "platform": "meta", "name": "x"}
    return archive({"links.ndjson": b"", "pixels.ndjson": _lines(*[_with(row, "more", _pairs(_ROW // 2))] * 4)})


def _long_name() -> bytes:
    """A header of tar that announces a name of 100 MB."""
    name = _mixed([f"{number:02x}" * 128 for number in range(256)], 100 << 20).encode()
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, len(name)
    rows = _lines(json.dumps(link(uploaded_image=f"{'a' * 32}.png")))
    return archive({"links.ndjson": rows, "images.tar": header.tobuf(tarfile.GNU_FORMAT) + name})


def _entries() -> bytes:
    """A ZIP file that lists 600,000 entries, all of which are the same."""
    content = archive({"links.ndjson": b""})
    start = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    one = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 33, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0)
    directory = content[start:end] + b"".join(one + b"%08d" % number for number in range(600_000))
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(directory), start, 0)
    return content[:start] + directory + last


def _lzma() -> bytes:
    """An entry whose dictionary has 4 GiB."""
    content = bytearray(archive({"links.ndjson": bytes(1_000)}, method=zipfile.ZIP_LZMA))
    at = content.index(b"links.ndjson") + len(b"links.ndjson")
    content[at + 5 : at + 9] = b"\xff\xff\xff\xff"
    return bytes(content)


def _statistics() -> bytes:
    values = ",".join(f'"{number:x}":1' for number in range(900_000))
    row = f'{{"link_id": null, "date": "2020-01-01", "quarters": [], "values": {{"referrer": {{{values}}}}}}}'
    return archive({"links.ndjson": b"", "old_statistics.ndjson": _lines(*[row] * 4)}, clicks_since="2026-01-01")


def _manifest() -> bytes:
    return archive({"links.ndjson": b""}, more=[{}] * 200_000)


def _four_byte_rows() -> bytes:
    cell = "\N{GRINNING FACE}" * 120_000
    return ("url,title\n" + "".join(f"https://example.com/{number},{cell}\n" for number in range(200))).encode()


def _allowed_rows() -> bytes:
    cell = "\N{GRINNING FACE}" * 30_000
    return ("url,title,domain\n" + f"https://example.com/,{cell},{cell}\n" * 200).encode()


def _many_tags() -> bytes:
    cell = ",".join(f"{number:04x}" for number in range(20_000))
    return ("url,tags\n" + "".join(f'https://example.com/{number},"{cell}"\n' for number in range(600))).encode()


def _columns_of_csv() -> bytes:
    header = "url," + ",".join(["c"] * 100_000)
    return "\n".join([header, *[f"https://example.com/{'x,' * 100_000}"] * 50]).encode()


_TABLE = "CREATE TABLE `url` (\n `keyword` int,\n `url` text,\n `timestamp` timestamp%s\n);\n"


def _columns_of_dump() -> bytes:
    return (_TABLE % "".join(f",\n `c{number}` int" for number in range(2_000_000))).encode()


def _columns_of_insert() -> bytes:
    return (_TABLE % "" + f"INSERT INTO `url` (keyword,url,timestamp{',c' * 5_000_000}) VALUES (1);").encode()


def _wide_rows() -> bytes:
    text = "\N{GRINNING FACE}" * 60_000
    rows = (f"('k{number}','https://example.com/{text}',NULL)" for number in range(200))
    return (_TABLE % "" + f"INSERT INTO `url` VALUES {','.join(rows)};").encode()


def _one_row() -> bytes:
    return (_TABLE % "" + "INSERT INTO `url` VALUES ('" + "\\'" * (30 << 20) + "');").encode()


UPLOADS = {
    "six lines of 16 MiB": Upload("waypost", "a.zip", six_lines),
    "60 links of 250 KB": Upload("waypost", "a.zip", _batch),
    "links with as many values as allowed": Upload("waypost", "a.zip", _allowed),
    "lists in lists": Upload("waypost", "a.zip", _deep),
    "tags of links": Upload("waypost", "a.zip", _tags),
    "domains": Upload("waypost", "a.zip", _domains),
    "pixels": Upload("waypost", "a.zip", _pixels),
    "a long name in images.tar": Upload("waypost", "a.zip", _long_name),
    "600,000 entries of a ZIP file": Upload("waypost", "a.zip", _entries),
    "a dictionary of 4 GiB": Upload("waypost", "a.zip", _lzma),
    "old statistics": Upload("waypost", "a.zip", _statistics),
    "values of a manifest": Upload("waypost", "a.zip", _manifest),
    "CSV rows of four-byte characters": Upload("csv", "a.csv", _four_byte_rows),
    "CSV rows as long as allowed": Upload("csv", "a.csv", _allowed_rows),
    "tags of CSV rows": Upload("csv", "a.csv", _many_tags),
    "columns of a CSV file": Upload("csv", "a.csv", _columns_of_csv),
    "columns of a table": Upload("yourls", "a.sql", _columns_of_dump),
    "columns of a statement": Upload("yourls", "a.sql", _columns_of_insert),
    "wide rows of a dump": Upload("yourls", "a.sql", _wide_rows),
    "one row of a dump": Upload("yourls", "a.sql", _one_row),
}
"""By what they have much of. The smallest of them compressed has 96 KB."""


def _answer_of_pairs() -> bytes:
    return f'{{"groups": {_pairs((8 << 20) - 1_000)}}}'.encode()


def _answer_of_long_names() -> bytes:
    return json.dumps({"groups": [{"guid": "x" * 8_000_000}]}).encode()


def _answer_of_names() -> bytes:
    names = ",".join(f'{{"{number}":0}}' for number in range(500_000))
    return f'{{"groups": [{names}]}}'.encode()


ANSWERS = {
    "pairs in an answer": _answer_of_pairs,
    "a long name in an answer": _answer_of_long_names,
    "names in an answer": _answer_of_names,
}
"""To `GET /v4/groups` of Bitly."""
