"""User agents with labels of others, which the table of models was not made from: see devices/NOTICE."""

import csv
import lzma
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parent / "devices" / "labelled.tsv.xz"
OF_DEVICE_DETECTOR = {
    "smartphone": "mobile",
    "phablet": "mobile",
    "feature phone": "mobile",
    "tablet": "tablet",
    "desktop": "desktop",
}
"""Our name of its types. All others are "other"."""


class Labelled(NamedTuple):
    origin: str
    device: str
    user_agent: str


def read_labelled() -> list[Labelled]:
    lines = lzma.decompress(FILE.read_bytes()).decode().splitlines()
    return [Labelled(*row) for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]
