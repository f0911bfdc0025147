"""Many visitors at once over raw sockets, as fast as the port takes them; each answer must have the status expected."""

import select
import socket
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

Asked = tuple[bytes, int]
"""(request, status of its answer)"""

_TIMEOUT = 60
_READ = 1 << 16


def send(port: int, asked: Sequence[Asked], *, connections: int = 32, at_once: int = 1) -> None:
    """Returns when all are answered. `at_once`: requests a connection sends before it reads; more than 1: pipelined."""
    bundles = iter([asked[start : start + at_once] for start in range(0, len(asked), at_once)])
    poll, crowd = select.epoll(), {}
    try:
        for _ in range(connections):
            one = _Connection(port, bundles)
            if one.is_busy:
                crowd[one.fileno()] = one
                poll.register(one.fileno(), select.EPOLLIN)
        while crowd:
            ready = poll.poll(_TIMEOUT)
            assert ready, "nobody is answered any more"
            for number, _ in ready:
                if not crowd[number].hear():
                    poll.unregister(number)
                    crowd.pop(number).close()
    finally:
        poll.close()
        for one in crowd.values():
            one.close()


class _Connection:
    def __init__(self, port: int, bundles: Iterator[Sequence[Asked]]) -> None:
        self._bundles = bundles
        self._waiting: deque[Asked] = deque()
        self._heard = b""
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.fileno = self._socket.fileno
        self.is_busy = self._ask()
        if not self.is_busy:
            self.close()

    def hear(self) -> bool:
        """False when it has nothing left to ask."""
        piece = self._socket.recv(_READ)
        assert piece, f"hung up before it answered {self._waiting[0][0]!r}"
        self._heard = _without_answers(self._heard + piece, self._waiting)
        return bool(self._waiting) or self._ask()

    def close(self) -> None:
        self._socket.close()

    def _ask(self) -> bool:
        bundle: Iterable[Asked] = next(self._bundles, ())
        self._waiting.extend(bundle)
        if self._waiting:
            self._socket.sendall(b"".join(request for request, _ in self._waiting))
        return bool(self._waiting)


def _without_answers(heard: bytes, waiting: deque[Asked]) -> bytes:
    """Takes whole answers from `heard` and who waited for them from `waiting`; returns the rest."""
    while waiting and (end := heard.find(b"\r\n\r\n")) >= 0:
        request, status = waiting[0]
        end += 4
        if not request.startswith(b"HEAD"):
            end += _length(heard[:end])
        if len(heard) < end:
            break
        assert heard[9:12] == b"%d" % status, f"{heard[:end]!r} to {request!r}"
        waiting.popleft()
        heard = heard[end:]
    return heard


def _length(head: bytes) -> int:
    start = head.find(b"content-length: ") + 16
    assert start > 15, head
    return int(head[start : head.find(b"\r", start)])
