"""Addresses that people tried and no link has, until somebody counts them. However many there are, few are kept."""

from typing import Final, NamedTuple

_MAX_PATH: Final = 1_024  # bytes
_MAX_OF_HOST: Final = 200
_MAX: Final = 2_000


class MissedVisits(NamedTuple):
    host: bytes
    path: bytes
    """Percent-decoded, without the leading slash, and cut."""
    visits: int


class MissedAddresses:
    def __init__(self) -> None:
        self._of_hosts: dict[bytes, dict[bytes, int]] = {}
        self._count = 0

    def note(self, host: bytes, path: bytes) -> None:
        """Count a visit of a person, unless there are too many addresses already. `host`: one that has links."""
        if self._count >= _MAX or not path:
            return
        of_host = self._of_hosts.setdefault(host, {})
        key = path[:_MAX_PATH]
        visits = of_host.get(key, 0)
        if not visits:
            if len(of_host) >= _MAX_OF_HOST:
                return
            self._count += 1
        of_host[key] = visits + 1

    def take(self) -> list[MissedVisits]:
        """Return what was noted since the last call."""
        of_hosts, self._of_hosts, self._count = self._of_hosts, {}, 0
        return [MissedVisits(host, *visits) for host, of_host in of_hosts.items() for visits in of_host.items()]
