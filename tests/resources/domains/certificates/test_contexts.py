"""Handshakes are answered from memory: by name, and with nothing for names that nobody has."""

import ssl
from uuid import UUID

import pytest
import structlog
import trustme
from resources.domains.certificates.conftest import RING

from waypost.database import KeyRing
from waypost.resources.domains.certificates.contexts import TlsContexts
from waypost.resources.domains.model import certificates

ALICE, BOB, APP = "go.alice.example", "bob.example", "app.test"


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


def put(contexts: TlsContexts, ca: trustme.CA, *hostnames: str, ring: KeyRing = RING) -> None:
    for number, each in enumerate(hostnames, 1):
        leaf = ca.issue_cert(each, key_type=trustme.KeyType.ECDSA)
        key = ring.encrypt(certificates.c.key, UUID(int=number), leaf.private_key_pem.bytes().decode())
        contexts.put(each, UUID(int=number), leaf.cert_chain_pems[0].bytes().decode(), key)


@pytest.fixture
def contexts(ca: trustme.CA) -> TlsContexts:
    made = TlsContexts(RING, APP, capacity=2)
    put(made, ca, ALICE, BOB, APP)
    return made


class Visitor:
    def __init__(self, ca: trustme.CA, contexts: TlsContexts, **limits: object) -> None:
        self._listening = contexts.listening
        self._context = ssl.create_default_context(cadata=ca.cert_pem.bytes().decode())
        self._context.set_alpn_protocols(["h2", "http/1.1"])
        for name, value in limits.items():
            setattr(self._context, name, value)

    def visits(self, name: str | None) -> ssl.SSLObject:
        """Raises the alert that came. Without a name it takes any certificate."""
        self._context.check_hostname = name is not None
        there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        visitor = self._context.wrap_bio(back, there, server_hostname=name)
        server = self._listening.wrap_bio(there, back, server_side=True)
        for _ in range(4):
            for side in (visitor, server):
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLError:
                    if side is visitor:
                        raise
        return visitor


def names_of(visitor: ssl.SSLObject) -> list[str]:
    return [name for _, name in visitor.getpeercert()["subjectAltName"]]


def test_chooses_the_certificate_by_hostname(ca: trustme.CA, contexts: TlsContexts) -> None:
    visitor = Visitor(ca, contexts)
    for name, host in ((ALICE, ALICE), (BOB, BOB), (ALICE.upper(), ALICE), (None, APP)):
        seen = visitor.visits(name)
        assert names_of(seen) == [host]
        assert seen.selected_alpn_protocol() == "http/1.1"
        assert seen.version() == "TLSv1.3"
    assert len(contexts._ready) == 2  # no more than its capacity


def test_only_what_is_safe(ca: trustme.CA, contexts: TlsContexts) -> None:
    assert Visitor(ca, contexts, maximum_version=ssl.TLSVersion.TLSv1_2).visits(BOB).version() == "TLSv1.2"
    with pytest.raises(ssl.SSLError), pytest.warns(DeprecationWarning, match="TLSv1"):
        Visitor(ca, contexts, minimum_version=ssl.TLSVersion.TLSv1, maximum_version=ssl.TLSVersion.TLSv1_1).visits(BOB)


def test_a_thousand_names_that_nobody_has(ca: trustme.CA, contexts: TlsContexts) -> None:
    """Nothing is kept of them."""
    visitor = Visitor(ca, contexts)
    for number in range(1_000):
        with pytest.raises(ssl.SSLError, match=r"(?i)unrecognized.name"):
            visitor.visits(f"{number}.example")
    assert len(contexts) == 3
    assert len(contexts._ready) == 0


def test_no_name_and_no_host_of_our_own(ca: trustme.CA) -> None:
    with pytest.raises(ssl.SSLError, match=r"(?i)unrecognized.name"):
        Visitor(ca, TlsContexts(RING, APP)).visits(None)


def test_a_new_one_takes_the_place_of_the_old(ca: trustme.CA, contexts: TlsContexts) -> None:
    visitor = Visitor(ca, contexts)
    before = visitor.visits(ALICE).getpeercert()["serialNumber"]
    put(contexts, ca, ALICE)
    assert visitor.visits(ALICE).getpeercert()["serialNumber"] != before
    contexts.drop(ALICE)
    with pytest.raises(ssl.SSLError, match=r"(?i)unrecognized.name"):
        visitor.visits(ALICE)


def test_an_unreadable_key_is_logged_once(ca: trustme.CA) -> None:
    contexts = TlsContexts(RING, APP)
    put(contexts, ca, ALICE, ring=KeyRing(["lost"]))
    with structlog.testing.capture_logs() as logs:
        for _ in range(2):
            with pytest.raises(ssl.SSLError, match=r"(?i)unrecognized.name"):
                Visitor(ca, contexts).visits(ALICE)
    assert [(line["event"], line["host"]) for line in logs] == [("certificate unusable", ALICE)]
