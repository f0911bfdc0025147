"""Output of the remote commands: the JSON of the API for scripts, tables for people."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from waypost_client import to_json
from waypost_client.models import LinkStats

_NO_WRAP = {"id", "short_url", "hostname"}  # users copy these
_LISTS = ("countries", "referrers", "devices", "browsers", "platforms", "targets")


def write(result: Any, *, as_json: bool) -> None:
    if as_json:
        _document(to_json(result))
    else:
        for name, value in to_json(result).items():
            for line in _lines(value):
                sys.stdout.write(f"{name}: {line}\n")


def write_list(results: Sequence[Any], columns: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        _document([to_json(each) for each in results])
    elif results:
        _table([[_text(getattr(each, name)) for name in columns] for each in results], columns)


def write_stats(stats: LinkStats, *, as_json: bool) -> None:
    if as_json:
        _document(to_json(stats))
        return
    sys.stdout.write(f"clicks: {stats.clicks:,}\nvisitors: {stats.visitors:,}\nscans: {stats.scans:,}\n")
    rows = [[f"{each.at:%Y-%m-%d %H:%M}", f"{each.clicks:,}", f"{each.visitors:,}"] for each in stats.series]
    _table(rows, [f"{stats.interval} (UTC)", "clicks", "visitors"])
    for name in _LISTS:
        if values := getattr(stats, name):
            _table([[each.value, f"{each.clicks:,}"] for each in values], [name, "clicks"])


def _document(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _table(rows: Sequence[Sequence[str]], columns: Sequence[str]) -> None:
    table = Table(*(Column(name, no_wrap=name in _NO_WRAP, overflow="fold") for name in columns))
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False, width=None if sys.stdout.isatty() else 200).print(table)


def _lines(value: Any) -> list[str]:
    """A list of objects gets a line for each."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_text(each) for each in value]
    return [_text(value)]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={_text(each)}" for name, each in value.items() if each is not None)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return (
        "" if value is None else f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    )
