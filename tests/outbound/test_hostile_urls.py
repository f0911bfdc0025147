"""No spelling of a URL leads to a private address: sent by a user, or given by a redirect."""

import pytest
from hostile_urls import HOSTILE_URLS, PRIVATE, REFUSED
from servers import ALLOW, Receiver, canary, redirect

from waypost.kit.ids import new_id
from waypost.kit.urls import BadUrl, canonical
from waypost.outbound import DestinationChecker, NotPublic, Outbound, OutboundError, Unreachable, UrlSafety


def test_the_list_has_every_kind_of_hostile_url() -> None:
    assert len(set(HOSTILE_URLS)) == len(HOSTILE_URLS) >= 100


@pytest.mark.parametrize("text", REFUSED)
def test_it_is_no_url(text: str) -> None:
    with pytest.raises(BadUrl):
        canonical(text)


@pytest.mark.parametrize("text", PRIVATE)
async def test_its_address_is_refused(outbound: Outbound, text: str) -> None:
    with pytest.raises(NotPublic):
        await outbound.request("GET", canonical(text), deadline=5, max_body=1)


LOOPBACK = """
    127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.0.0.1. %31%32%37.0.0.1 127.0.0.1%2e
    0 0.0.0.0 [::1] [::] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1] localhost
    LOCALHOST. example.com@127.0.0.1 example.com:80@127.0.0.1 /127.0.0.1 //127.0.0.1 \\127.0.0.1
"""


@pytest.mark.parametrize("host", LOOPBACK.split())
async def test_no_redirect_leads_to_the_canary(outbound: Outbound, host: str) -> None:
    async with canary() as forbidden, Receiver(redirect(f"http://{host}:{forbidden.port}/")) as receiver:
        with pytest.raises(OutboundError):
            await DestinationChecker(outbound, UrlSafety()).fetch_metadata(canonical(receiver.url()), account=new_id())
        assert (receiver.connections, forbidden.connections) == (1, 0)


async def test_a_redirect_that_is_no_url_is_unreachable(outbound: Outbound) -> None:
    async with Receiver(redirect("http://[::1")) as receiver:
        with pytest.raises(Unreachable, match="an invalid URL"):
            await DestinationChecker(outbound, UrlSafety()).fetch_metadata(canonical(receiver.url()), account=new_id())


def test_only_one_loopback_address_is_open() -> None:
    assert [str(network) for network in ALLOW] == ["127.0.0.2/32"]
