"""The parameters of a query."""

from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

_MAX_LENGTH = 4_096  # bytes
_MAX_PARAMETERS = 100


def parse_query(query: bytes) -> Mapping[bytes, set[bytes]]:
    """Return the values of each parameter, decoded. Accepts any bytes; what exceeds the limits is not read.

    A plus sign is read as itself and as a space, because a form sends it for one and a person types it for the other.
    """
    values: dict[bytes, set[bytes]] = {}
    for reading in {query[:_MAX_LENGTH], query[:_MAX_LENGTH].replace(b"+", b" ")}:
        for parameter in reading.split(b"&", _MAX_PARAMETERS)[:_MAX_PARAMETERS]:
            name, _, value = parameter.partition(b"=")
            if parameter:
                values.setdefault(unquote_to_bytes(name), set()).add(unquote_to_bytes(value))
    return values
