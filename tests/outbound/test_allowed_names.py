"""Host names that WAYPOST_OUTBOUND_ALLOW opens: they may be private, and lead to private networks, and nowhere else."""

from ipaddress import ip_address

import pytest
from connect_proxy import ConnectProxy
from hostile_urls import REFUSED
from servers import ALLOW, OPEN, PRIVATE, NameServer, Receiver, canary, page, redirect

from waypost.kit.ids import new_id
from waypost.kit.outbound_proxy import parse_proxy_url
from waypost.kit.urls import BadUrl, PrivateHost, PrivateNames, canonical
from waypost.outbound import DestinationChecker, NotPublic, Outbound, UrlSafety
from waypost.outbound.addresses import AllowedAddresses
from waypost.settings import Settings

NAMES = PrivateNames(("wiki", "*.corp.internal", "db.corp.example"))
ALLOWED = ["wiki", "a.corp.internal", "b.a.corp.internal", "db.corp.example"]
OTHERS = ["wikis", "corp.internal", "acorp.internal", "other.internal", "localhost", "www.wiki.internal"]


def checker(names: NameServer) -> DestinationChecker:
    return DestinationChecker(Outbound(allow=ALLOW, names=NAMES, dns_servers=[names.address]), UrlSafety())


def test_a_name_is_allowed_and_no_other() -> None:
    for host in ALLOWED:
        assert canonical(f"http://{host.upper()}/page", private=NAMES).host == host
    for host in OTHERS:
        with pytest.raises(PrivateHost):
            canonical(f"http://{host}/", private=NAMES)


@pytest.mark.parametrize("text", [text for text in REFUSED if "." not in text or "internal" in text])
def test_other_rules_for_urls_hold(text: str) -> None:
    with pytest.raises(BadUrl):
        canonical(text, private=NAMES)


@pytest.mark.parametrize("host", ALLOWED)
def test_it_may_lead_to_private_networks_only(host: str) -> None:
    of_host = AllowedAddresses(names=NAMES).of_host(host)
    for address in ("10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd12::1", "8.8.8.8", "2606:4700::1111"):
        assert ip_address(address) in of_host
    for address in (
        *(
            "127.0.0.1",
            "0.0.0.0",
            "169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "224.0.0.1",
            "255.255.255.255",
        ),
        *("::1", "::", "fe80::1", "fd00:ec2::254", "ff02::1", "64:ff9b::a00:1", "::ffff:127.0.0.1", "2002:a00::1"),
    ):
        assert ip_address(address) not in of_host
    for other in OTHERS:
        assert ip_address("10.1.2.3") not in AllowedAddresses(names=NAMES).of_host(other)


async def test_it_is_fetched_unless_it_leads_to_loopback(names: NameServer) -> None:
    names.has("wiki", [OPEN], [PRIVATE])  # ALLOW has the first: loopback is the only network of a test
    async with Receiver(page("<title>Wiki</title>")) as receiver, canary(port=receiver.port) as forbidden:
        of_names = checker(names)
        url = of_names.canonical(receiver.url(host="wiki"))
        assert (await of_names.fetch_metadata(url, account=new_id())).title == "Wiki"
        with pytest.raises(NotPublic):
            await of_names.fetch_metadata(url, account=new_id())
        assert forbidden.connections == 0


async def test_a_redirect_from_it_follows_the_rules(names: NameServer) -> None:
    names.has("wiki", [OPEN])
    names.has("a.corp.internal", [OPEN])
    names.has("inside.test", ["10.1.2.3"])
    of_names = checker(names)
    for target in ("http://10.1.2.3/", "http://inside.test/", "http://other.internal/", "http://localhost/"):
        async with Receiver(redirect(target)) as receiver:
            with pytest.raises(NotPublic):
                await of_names.fetch_metadata(of_names.canonical(receiver.url(host="wiki")), account=new_id())
    async with (
        Receiver(page("<title>Next</title>")) as last,
        Receiver(redirect(last.url(host="a.corp.internal"))) as first,
    ):
        metadata = await of_names.fetch_metadata(of_names.canonical(first.url(host="wiki")), account=new_id())
    assert metadata.title == "Next"


async def test_a_proxy_may_look_it_up(names: NameServer) -> None:
    async with ConnectProxy(leads={"wiki": OPEN}) as proxy, Receiver(page("<title>Wiki</title>")) as receiver:
        server = parse_proxy_url(proxy.url(query="?resolve=proxy"))
        of_names = DestinationChecker(Outbound(names=NAMES, proxy=server), UrlSafety())
        url = of_names.canonical(receiver.url(host="wiki"))
        assert (await of_names.fetch_metadata(url, account=new_id())).title == "Wiki"
    assert (proxy.asked, names.questions) == ([f"wiki:{receiver.port}"], [])


def test_the_setting_has_networks_and_names() -> None:
    settings = Settings(outbound_allow="10.0.0.0/8, Wiki, *.corp.internal, ::1, bücher.example")
    assert [str(network) for network in settings.allowed_networks] == ["10.0.0.0/8", "::1/128"]
    assert settings.allowed_names.patterns == ("wiki", "*.corp.internal", "xn--bcher-kva.example")
    for wrong in ("10.0.0.0/33", "*", "*.*.internal", "http://wiki", "wiki:80", "wiki/x", "a b", "2130706433", "1.2.3"):
        with pytest.raises(ValueError, match="must be networks and host names"):
            Settings(outbound_allow=wrong)
