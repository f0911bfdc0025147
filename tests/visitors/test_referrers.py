"""Where visitors come from."""

import json
from pathlib import Path
from typing import Any

import pytest

from waypost.visitors.referrers import MAX_RAW_REFERRER, read_referrer

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases" / "referrers.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["referer"])
def test_what_browsers_and_apps_send(case: dict[str, Any]) -> None:
    referrer = read_referrer(case["referer"].encode())
    assert referrer in case["accepted"]
    if "same_as" in case:
        assert referrer == read_referrer(case["same_as"].encode())


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"https://from.example/a?b=c#d", "https://from.example/a"),
        (b"HTTPS://From.Example:8443/A", "https://from.example:8443/A"),
        (b"https://user:secret@from.example/", "https://from.example/"),
        (b"https://from.example?q=secret", "https://from.example/"),
        (b"https://from.example", "https://from.example/"),
        (b"https://from.example:443", "https://from.example/"),
        (b"http://from.example:80/a", "http://from.example/a"),
        (b"http://from.example:443/a", "http://from.example:443/a"),
        (b"https://[2001:db8::443]/a", "https://[2001:db8::443]/a"),
        (b"https://:443/", ""),
        (b"https://from.example/a;b", "https://from.example/a;b"),
        (b"https://from.example/\0\x1f\x7f\xc2\x85a\xe2\x80\xaeb", "https://from.example/ab"),
        (b"https://from.example/\xff\xed\xa0\x80", "https://from.example/\ufffd\ufffd\ufffd\ufffd"),
        (b"https://from.example/" + b"a" * 8_000, "https://from.example/" + "a" * 479),
        (b"javascript:alert(1)", ""),
        (b"https://[broken", ""),
        (b"https://", ""),
        (b"https:///path", ""),
        (b"https://@/", ""),
        (b"\xff\xfe", ""),
        (b"", ""),
    ],
)
def test_keeps_origin_and_path_of_a_referrer(sent: bytes, expected: str) -> None:
    assert read_referrer(sent[:MAX_RAW_REFERRER]) == expected


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"android-app://com.google.android.gm/", "android-app://com.google.android.gm/"),
        (b"android-app://com.Slack", "android-app://com.Slack/"),
        (b"Android-App://org.telegram.messenger/?x=1", "android-app://org.telegram.messenger/"),
        (
            b"android-app://com.linkedin.android/https/www.linkedin.com/feed",
            "android-app://com.linkedin.android/https/www.linkedin.com/feed",
        ),
        (
            b"android-app://com.google.android.googlequicksearchbox/#a",
            "android-app://com.google.android.googlequicksearchbox/",
        ),
        (b"android-app:///", ""),
        (b"android-app://<script>/", ""),
        (b"ios-app://389801252/instagram", "ios-app://389801252/instagram"),
        (b"https://www.google.com/amp/s/news.example.org/a/b.amp", "https://news.example.org/a/b.amp"),
        (b"https://www.google.de/amp/news.example.org/a?x=1", "http://news.example.org/a"),
        (b"https://news-example-org.cdn.ampproject.org/c/s/news.example.org/a", "https://news.example.org/a"),
        (b"https://cdn.ampproject.org/v/s/news.example.org/a?amp_js_v=0.1", "https://news.example.org/a"),
        (b"https://www-my--site-example.cdn.ampproject.org/", "https://www.my-site.example/"),
        (b"https://google.com/amp/s/shop.example.co.uk", "https://shop.example.co.uk/"),
        (b"https://www.google.com/search", "https://www.google.com/search"),
        (b"https://www.google.com/amp/", "https://www.google.com/amp/"),
        (b"https://notgoogle.com/amp/s/a.example/", "https://notgoogle.com/amp/s/a.example/"),
        (
            b"https://cdn.ampproject.org.evil.example/c/s/a.example/",
            "https://cdn.ampproject.org.evil.example/c/s/a.example/",
        ),
    ],
)
def test_apps_and_copies_of_amp_pages(sent: bytes, expected: str) -> None:
    assert read_referrer(sent[:MAX_RAW_REFERRER]) == expected
