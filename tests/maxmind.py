"""Writes small databases in MaxMind's format: https://maxmind.github.io/MaxMind-DB/."""

from ipaddress import ip_network
from pathlib import Path

_SEPARATOR = b"\0" * 16
_METADATA = b"\xab\xcd\xefMaxMind.com"

Record = dict[str, object]


class Short(int):
    """16 bits."""


class Long(int):
    """64 bits."""


def write(path: Path, networks: dict[str, Record], *, kind: str = "Test-Country", built: int = 1_750_000_000) -> Path:
    """IPv6 networks and, as MaxMind does, IPv4 ones in ::/96. None may lie within another."""
    nodes: list[list[object]] = [[None, None]]
    for text, record in networks.items():
        _insert(nodes, text, record)
    data, places = b"", {}
    for number, record in enumerate(networks.values()):
        places[number] = len(data)
        data += _encoded(record)
    numbers = {id(record): number for number, record in enumerate(networks.values())}
    tree = b""
    for node in nodes:
        for side in node:
            if side is None:
                value = len(nodes)
            elif isinstance(side, int):
                value = side
            else:
                value = len(nodes) + len(_SEPARATOR) + places[numbers[id(side)]]
            tree += value.to_bytes(3)
    about = {"node_count": len(nodes), "record_size": Short(24), "ip_version": Short(6), "database_type": kind}
    about |= {"binary_format_major_version": Short(2), "binary_format_minor_version": Short(0)}
    about |= {"build_epoch": Long(built), "languages": [], "description": {}}
    path.write_bytes(tree + _SEPARATOR + data + _METADATA + _encoded(about))
    return path


def _insert(nodes: list[list[object]], text: str, record: Record) -> None:
    network = ip_network(text)
    length = network.prefixlen + (96 if network.version == 4 else 0)
    bits = f"{int(network.network_address):0128b}"[:length]
    at = 0
    for bit in bits[:-1]:
        if nodes[at][int(bit)] is None:
            nodes.append([None, None])
            nodes[at][int(bit)] = len(nodes) - 1
        at = nodes[at][int(bit)]
    nodes[at][int(bits[-1])] = record


def _encoded(value: object) -> bytes:
    if isinstance(value, dict):
        return bytes([7 << 5 | len(value)]) + b"".join(_encoded(part) for pair in value.items() for part in pair)
    if isinstance(value, str):
        assert len(value) < 29
        return bytes([2 << 5 | len(value)]) + value.encode()
    if isinstance(value, list):
        return bytes([len(value), 4]) + b"".join(map(_encoded, value))
    assert isinstance(value, int)
    size = (value.bit_length() + 7) // 8
    if isinstance(value, Long):
        return bytes([size, 2]) + value.to_bytes(size)
    return bytes([(5 if isinstance(value, Short) else 6) << 5 | size]) + value.to_bytes(size)
