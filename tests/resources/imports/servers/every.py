"""Each service with some links on `go.brand.com`, by its name in `waypost import`."""

from collections.abc import Callable, Mapping

from resources.imports.servers.bitly import Bitly, bitlink
from resources.imports.servers.dub import Dub, dub_click, dub_link
from resources.imports.servers.kutt import Kutt, kutt_link
from resources.imports.servers.rebrandly import Rebrandly, rebrandly_link
from resources.imports.servers.scripted import TOKEN, ScriptedService
from resources.imports.servers.shlink import Shlink, short_url
from resources.imports.servers.short_io import ShortIo, short_io_link
from resources.imports.servers.spoo_me import SpooMe, spoo_me_link
from resources.imports.servers.yourls import SIGNATURE, Yourls, yourls_link


def bitly() -> Bitly:
    return Bitly(bitlink(1, custom_bitlinks=["https://go.brand.com/sale"]), bitlink(2, id="go.brand.com/3kXyZ"))


def rebrandly() -> Rebrandly:
    return Rebrandly(*(rebrandly_link(number, domain={"fullName": "go.brand.com"}) for number in range(60)))


def short_io() -> ShortIo:
    service = ShortIo(*map(short_io_link, range(160)))
    service.hostnames = dict.fromkeys(service.hostnames, "go.brand.com")
    return service


def dub() -> Dub:
    service = Dub(*(dub_link(number, domain="go.brand.com", clicks=10 * (number == 1)) for number in range(110)))
    service.clicks = [dub_click(number, "link_1", f"2024-01-01T00:00:{number:02}.000Z") for number in range(10)]
    return service


SERVICES: Mapping[str, Callable[[], ScriptedService]] = {
    "bitly": bitly,
    "rebrandly": rebrandly,
    "short-io": short_io,
    "dub": dub,
    "yourls": lambda: Yourls(*map(yourls_link, range(20))),
    "kutt": lambda: Kutt(*map(kutt_link, range(60))),
    "shlink": lambda: Shlink(*map(short_url, range(20))),
    "spoo-me": lambda: SpooMe(*map(spoo_me_link, range(20))),
}
TOKENS = dict.fromkeys(SERVICES, TOKEN) | {"yourls": SIGNATURE}
