"""Addresses that visitors tried and no link has, until somebody counts them. However many there are, few are kept."""

from typing import Final, NamedTuple

MAX_PATH: Final = 200  # bytes
_MAX_AGENT: Final = 512
_MAX_OF_HOST: Final = 200
_MAX: Final = 2_000


class MissedVisit(NamedTuple):
    host: bytes
    path: bytes
    """Percent-decoded, without the leading slash, and cut."""
    user_agent: bytes
    visits: int


class MissedAddresses:
    def __init__(self) -> None:
        self._of_hosts: dict[bytes, dict[tuple[bytes, bytes], int]] = {}
        self._count = 0

    def note(self, host: bytes, path: bytes, user_agent: bytes) -> None:
        """Count a visit, unless there are too many addresses already. `host`: one that has links."""
        if self._count >= _MAX or not path:
            return
        of_host = self._of_hosts.setdefault(host, {})
        key = path[:MAX_PATH], user_agent[:_MAX_AGENT]
        visits = of_host.get(key, 0)
        if not visits:
            if len(of_host) >= _MAX_OF_HOST:
                return
            self._count += 1
        of_host[key] = visits + 1

    def take(self) -> list[MissedVisit]:
        """Return what was noted since the last call."""
        of_hosts, self._of_hosts, self._count = self._of_hosts, {}, 0
        return [
            MissedVisit(host, path, user_agent, visits)
            for host, of_host in of_hosts.items()
            for (path, user_agent), visits in of_host.items()
        ]
