"""How many bots are known, and how many devices are mistaken for one, on samples that the rules were not made from.

Made from: the lists in use (crawler-user-agents, CrawlerDetect, ai.robots.txt), the samples of CrawlerDetect's own
tests, and people.txt. Held out:

- the bots of Matomo's tests (in the package device-detector), labelled by category. The rules were written without
  reading one of them, by the counts alone, and knew 97.0 % of those with a category and 95.3 % of all. Then every
  second one (`rows[::2]`) was read and the rules amended; the others were never read. Those without a category are HTTP
  clients, scripts of one word, and worse.
- devices.txt.xz, 3,774 user agents of real browsers, never read: see devices.NOTICE.
- the devices of Matomo's tests: mistakes among an earlier state's were read, and the rules amended.

`pytest -s` prints the figures.
"""

import lzma
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml_rs

from waypost.resources.clicks.intake.bots import detect_bot

HERE = Path(__file__).parent
NO_DEVICES = {"bots.yml", "podcasting.yml", "feed_reader.yml"}
"""Of Matomo's: what fetches feeds is a bot here."""

BOTS_AMONG_DEVICES = ("PTST/", "WAChat/", "Webster Pro", "Facebot Twitterbot")
"""Web page tests, WhatsApp, a copier of websites, TikTok's previews: Matomo names the browser they are built on."""


def fixtures() -> Path:
    spec = find_spec("device_detector")
    assert spec
    assert spec.origin
    return Path(spec.origin).parent / "tests"


def is_known(user_agent: str) -> bool:
    return detect_bot(user_agent.encode()) is not None


def test_people_with_names_similar_to_bots() -> None:
    lines = [line for line in (HERE / "people.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if is_known(line)] == []
    assert len(lines) > 200


def test_unseen_browsers_are_people() -> None:
    browsers = lzma.decompress((HERE / "devices.txt.xz").read_bytes()).decode().splitlines()
    assert [browser for browser in browsers if is_known(browser)] == []
    assert len(browsers) >= 2_500


def test_devices_of_matomo_are_people() -> None:
    rows = [row for path in fixtures().rglob("*.yml") if path.name not in NO_DEVICES for row in read(path)]
    texts = {text for row in rows if isinstance(text := row.get("user_agent"), str)}
    browsers = [text for text in texts if text.startswith(("Mozilla/", "Opera/"))]
    assert [text for text in browsers if is_known(text) and not any(map(text.count, BOTS_AMONG_DEVICES))] == []
    assert len(browsers) > 30_000
    others = [text for text in texts if not text.startswith(("Mozilla/", "Opera/"))]  # apps, mostly
    known = sum(map(is_known, others))
    print(f"\n{len(browsers)} browsers: none mistaken; {len(others)} programs: {known} taken for bots")
    assert known / len(texts) < 0.005


@pytest.mark.parametrize("start", [0, 1], ids=["read", "never read"])
def test_recognizes_bots_of_matomo(start: int) -> None:
    rows = read(fixtures() / "fixtures" / "upstream" / "bots.yml")[start::2]
    of = Counter(category(row) for row in rows)
    known = Counter(category(row) for row in rows if is_known(row["user_agent"]))
    print(
        *(f"\n{known[each] / of[each]:7.1%} of {of[each]:4} {each or 'without a category'}" for each in sorted(of)),
        sep="",
    )
    named = [each for each in of if each]
    print(f"{sum(known.values()) / sum(of.values()):7.1%} of all")
    assert sum(known[each] for each in named) / sum(of[each] for each in named) >= 0.97
    assert sum(known.values()) / sum(of.values()) >= 0.955


def category(row: dict[str, Any]) -> str:
    return str(row["bot"].get("category") or "")


def read(path: Path) -> list[dict[str, Any]]:
    rows = yaml_rs.loads(path.read_text())
    return rows if isinstance(rows, list) else []
