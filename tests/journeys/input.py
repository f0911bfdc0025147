"""What the contract is tried with: bodies that are none, fields that are wrong, each with the expected error."""

import gzip
from typing import Any

JSON = "application/json"
FORM = "multipart/form-data; boundary=edge"
MISSING = "01a1fbb2-2855-72ee-8e77-c161c4205e89"
"""An id nobody has."""

GIF = b"GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\4\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"

BODIES: dict[str, tuple[str, bytes, int]] = {
    "nothing": (JSON, b"", 422),
    "blank": (JSON, b"  \n", 422),
    "broken off": (JSON, b'{"title": "x"', 422),
    "two documents": (JSON, b'{"title": "x"}{"title": "y"}', 422),
    "a comma too many": (JSON, b'{"title": "x",}', 422),
    "single quotes": (JSON, b"{'title': 'x'}", 422),
    "a list": (JSON, b'[{"title": "x"}]', 422),
    "text": (JSON, b'"title"', 422),
    "null": (JSON, b"null", 422),
    "a number": (JSON, b"1", 422),
    "a key twice": (JSON, b'{"title": "x", "title": "y"}', 422),
    "a key twice, further in": (JSON, b'{"utm_params": {"utm_source": "x", "utm_source": "y"}}', 422),
    "not a number": (JSON, b'{"title": NaN}', 422),
    "endless": (JSON, b'{"title": -Infinity}', 422),
    "beyond a float": (JSON, b'{"title": 1e999}', 422),
    "100,000 digits": (JSON, b'{"title": ' + b"9" * 100_000 + b"}", 422),
    "100,000 deep": (JSON, b'{"title": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 422),
    "100,000 objects deep": (JSON, b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 422),
    "raw control characters": (JSON, b'{"title": "a\0b"}', 422),
    "not UTF-8": (JSON, b'{"title": "\xff\xfe"}', 422),
    "an overlong form": (JSON, b'{"title": "\xc0\xaf"}', 422),
    "half a surrogate pair": (JSON, b'{"title": "\xed\xa0\x80"}', 422),
    "UTF-16": (JSON, '{"title": "x"}'.encode("utf-16"), 422),
    "zipped": (JSON, gzip.compress(b'{"title": "x"}'), 422),
    "not JSON by its own word": ("text/plain", b'{"title": "x"}', 422),
    "a form": ("application/x-www-form-urlencoded", b"title=x", 422),
    "XML": ("application/xml", b"<title>x</title>", 422),
    "no type at all": ("nonsense", b'{"title": "x"}', 422),
    "multipart without boundary": ("multipart/form-data", b"--edge\r\n", 422),
    "multipart with another boundary": (FORM, b"--other\r\n\r\n--other--\r\n", 422),
    "multipart broken off": (FORM, b'--edge\r\nContent-Disposition: form-data; name="title"\r\n\r\nx', 422),
    "a part without a name": (FORM, b"--edge\r\nContent-Disposition: form-data\r\n\r\nx\r\n--edge--\r\n", 422),
    "a part that is not UTF-8": (
        FORM,
        b'--edge\r\nContent-Disposition: form-data; name="title"\r\n\r\n\xff\r\n--edge--\r\n',
        422,
    ),
    "over a mebibyte": (JSON, b'{"title": "' + b"x" * (1 << 20) + b'"}', 413),
    "a form over three": (FORM, b"--edge\r\n" + b"x" * (3 << 20), 413),
}
"""Content type, body, status."""

FIELDS: list[tuple[str, dict[str, Any]]] = [
    *(("destination_url", {"destination_url": each}) for each in (5, None, True, [], {}, "", " ", "example.com")),
    *(("destination_url", {"destination_url": f"{each}://example.com/"}) for each in ("javascript", "ftp", "file")),
    *(("destination_url", {"destination_url": f"https://example.com/{each}"}) for each in ("\0", "\n", " ", "\ud800")),
    *(("destination_url", {"destination_url": each}) for each in ("http://10.0.0.1/", "http://[::1]/", "http://0/")),
    *(("slug", {"slug": each}) for each in (5, True, [], "", "a b", "a/b", "a.b", "é", "\0", "\ud800", "😀", "api")),
    *(("title", {"title": each}) for each in (5, 1.5, True, [], {}, "a\0b", "a\nb", "\ud800", "\x7f")),
    *(("og_title", {"og_title": each}) for each in (5, "\x1b[0m", "\udfff")),
    *(("og_description", {"og_description": each}) for each in (5, "\0", "\ud800")),
    *(("og_image", {"og_image": each}) for each in (5, "", "image.png", "data:image/png;base64,", "https://a\0/")),
    *(("og_image_file", {"og_image_file": each}) for each in (5, "image.png", {"content": ""})),
    *(("hostname", {"hostname": each}) for each in (5, "", "nobody.example", "\0", "\ud800")),
    *(("utm_params", {"utm_params": each}) for each in (5, "utm_source=x", [], True)),
    ("utm_params.utm_source", {"utm_params": {"utm_source": 5}}),
    ("utm_params.utm_medium", {"utm_params": {"utm_medium": "\0"}}),
    ("utm_params.utm_color", {"utm_params": {"utm_color": "red"}}),
    *(("tags", {"tags": each}) for each in (5, "a", {"0": "a"}, ["a"] * 101)),
    *(("tags.1", {"tags": ["a", each]}) for each in (5, None, "", " ", [], {}, "\0", "\ud800")),
    *(("expires_at", {"expires_at": each}) for each in (5, True, [], "", "tomorrow", "2999-13-01T00:00:00Z", "\0")),
    *(("expires_at", {"expires_at": each}) for each in ("2020-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59")),
    *(("expires_at", {"expires_at": each}) for each in ("99999-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59")),
    *(("pixel_ids", {"pixel_ids": each}) for each in (5, MISSING, {"0": MISSING}, [MISSING] * 101)),
    *(("pixel_ids.0", {"pixel_ids": [each]}) for each in (5, None, "", "x", MISSING, [MISSING], "\ud800")),
]
"""The name under which the fault is reported, and the fields that have it."""
