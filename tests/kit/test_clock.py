from datetime import UTC, datetime, timedelta

import pytest

from waypost.kit.clock import parse_timestamp, timestamp

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)


def test_writes_and_parses_timestamps() -> None:
    assert parse_timestamp("2030-01-31T12:00:00Z") == NOON
    assert timestamp(parse_timestamp("2030-01-31T14:00:00.123456+02:00")) == "2030-01-31T12:00:00.123456Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2030-01-31T12:00", NOON),
        ("2030-01-31 12:00:00", NOON),
        ("2030-01-31t12:00:00z", NOON),
        ("2030-01-31T12:00:00.000000Z", NOON),
        ("2030-01-31T12:00:00.5", NOON + timedelta(milliseconds=500)),
        ("2030-01-31T12:00:00.0000001Z", NOON),
        ("2030-01-31T12:00:00+00", NOON),
        ("2030-01-31T06:30:00-0530", NOON),
        ("2030-01-31T00:00-12:00", NOON),
        ("2030-01-31", NOON - timedelta(hours=12)),
    ],
)
def test_parses_common_iso_8601_forms(text: str, expected: datetime) -> None:
    parsed = parse_timestamp(text)
    assert (parsed, parsed.tzinfo) == (expected, UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2030",
        "2030-W01-1T00:00",
        "2030-W01-1",
        "2030-031",
        "20300131T120000Z",
        "20300131",
        "2030-01-31Z",
        "2030-01-31T",
        "2030-01-31T12",
        "2030-01-31T12:00:00,5",
        "2030-01-31T12:00:00.",
        "2030-01-31T12:00:00+02:00:30",
        "2030-01-31T12:00:00 Z",
        "2030-01-31_12:00",
        " 2030-01-31T12:00",
        "2030-01-31T12:00\n",
        "2030-02-30T12:00",
        "2030-01-31T25:00",
        "2030-01-31T12:00:60Z",
        "2030-01-31T12:00+24:00",
        "٢٠٣٠-01-31T12:00",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
        "99999-01-01T00:00:00Z",
    ],
)
def test_refuses_invalid_timestamps(text: str) -> None:
    with pytest.raises(ValueError):
        parse_timestamp(text)
