"""The bytes of a page to text. Knows the web's encodings only.

Python knows more, and hostile bytes in some of them (punycode) would take minutes to decode.
"""

import codecs

from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom

PIECE = 4_096
ENCODINGS = frozenset(
    {"utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "cp866"}
    | {"gb18030", "big5hkscs", "cp950", "euc_jp", "iso2022_jp", "cp932", "cp949", "cp874"}
    | {f"cp{number}" for number in range(1250, 1259)}
    | {f"iso8859-{number}" for number in range(1, 17)}
)


def decoded(body: bytes, content_type: str | None) -> str:
    """A byte order mark wins, then the header, then the page's own word, then what the bytes look like."""
    named, mark = read_bom(body)
    name = named or http_content_type_encoding(content_type) or html_body_declared_encoding(body)
    if name not in ENCODINGS:
        name = _guessed(body)
    return _decoded_in_pieces(body.removeprefix(mark or b""), "utf-16-le" if name == "utf-16" else name)


def _decoded_in_pieces(body: bytes, name: str) -> str:
    """Other threads run between two pieces: half a megabyte of bytes that cp1252 has not takes half a second."""
    decoder = codecs.getincrementaldecoder(name)(errors="replace")
    pieces = [decoder.decode(body[start : start + PIECE]) for start in range(0, len(body), PIECE)]
    return "".join([*pieces, decoder.decode(b"", final=True)])


def _guessed(body: bytes) -> str:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        cut_off = error.start > len(body) - 4  # a page over the limit ends within a character
        return "utf-8" if cut_off else "cp1252"
    return "utf-8"
