"""What an outbound request gets."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from waypost.kit.urls import Url


class Headers(Mapping[str, str]):
    """The fields of a response. Names are case-insensitive. Of several with one name, the first one applies."""

    def __init__(self, fields: Sequence[tuple[str, str]] = ()) -> None:
        """`fields`: with names in lower case."""
        self._fields = fields
        self._first = dict(reversed(fields))

    def __getitem__(self, name: str) -> str:
        return self._first[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._first)

    def __len__(self) -> int:
        return len(self._first)

    def all(self, name: str) -> list[str]:
        """Return the values of all fields with this name, which is in lower case."""
        return [value for other, value in self._fields if other == name]


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    status: int
    headers: Headers
    body: bytes
    """Cut off at `max_body`. From `Outbound.request`: decompressed."""
    url: Url
    is_complete: bool = True
    """Whether the body arrived to its end. If not, the part before still counts."""

    def json(self) -> Any:
        """Raises ValueError for a body that is not JSON or is nested too deeply."""
        try:
            return json.loads(self.body)
        except RecursionError:
            raise ValueError("nested too deeply") from None
