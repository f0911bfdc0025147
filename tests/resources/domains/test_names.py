"""Canonical hostnames, and what is not a hostname."""
# ruff: noqa: RUF001  # look-alikes are what it is about

from itertools import count

import pytest

from waypost.resources.domains import names

IN_PUNYCODE = "xn--" + "a" * 70


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("go.brand.test", "go.brand.test"),
        ("GO.Brand.TEST", "go.brand.test"),
        ("go.brand.test.", "go.brand.test"),
        ("go。brand。test", "go.brand.test"),
        ("ｇｏ.brand.test", "go.brand.test"),
        ("go\u00adlinks.brand.test", "golinks.brand.test"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("bu\u0308cher.example", "xn--bcher-kva.example"),
        ("XN--Bcher-Kva.example", "xn--bcher-kva.example"),
        ("faß.de", "xn--fa-hia.de"),
        ("日本語.jp", "xn--wgv71a119e.jp"),
        ("كوم.example", "xn--fhbei.example"),
        ("аррӏе.com", "xn--80ak6aa92e.com"),  # all of it Cyrillic: browsers show such a name as punycode
        ("東京タワー.jp", "xn--5ck2eqb538s34z.jp"),
        ("a--b.r3---sn.example", "a--b.r3---sn.example"),
        ("1.2.3.brand.test", "1.2.3.brand.test"),
        (f"{'a' * 63}.test", f"{'a' * 63}.test"),
        (f"{'a.' * 124}test.", f"{'a.' * 124}test"),
        (f"{'a.' * 124}tests", f"{'a.' * 124}tests"),
    ],
    ids=count(),
)
def test_canonical_spellings(sent: str, kept: str) -> None:
    assert names.canonical(sent) == kept
    assert names.canonical(kept) == kept


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("go.brand.test", "go.brand.test"),
        ("xn--bcher-kva.example", "bücher.example"),
        ("go.xn--bcher-kva.xn--p1ai", "go.bücher.рф"),
        ("xn--5ck2eqb538s34z.jp", "東京タワー.jp"),
        ("xn--fhbei.example", "كوم.example"),
        ("xn--80ak6aa92e.com", None),  # of one script, and yet it reads as apple
        ("xn--pple-43d.com", None),  # of two
        (names.idna.alabel("日本x").decode() + ".jp", None),
        (names.idna.alabel("l·l").decode() + ".example", None),
        ("xn--a.example", None),
        ("xn--bcher-kva8445foa.example", None),
        ("xn--ls8h.example", None),  # a sign that IDNA 2008 has not
        ("xn--80ak6aa92e.xn--bcher-kva.de", "xn--80ak6aa92e.bücher.de"),
    ],
    ids=count(),
)
def test_readable_labels(name: str, shown: str | None) -> None:
    assert ".".join(names.readable(name)) == (shown or name)


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ("", names.EMPTY),
        (".", names.EMPTY),
        (f"{'a.' * 124}testss", names.TOO_LONG),
        ("ü" * 254, names.LONG_LABEL),
        (".".join(["ü" * 20] * 12), names.TOO_LONG),  # as punycode
        ("a" * 1_000_000, names.TOO_LONG),
        ("http://go.brand.test", names.SCHEME),
        ("HTTPS:go.brand.test", names.SCHEME),
        ("//go.brand.test", names.SCHEME),
        ("go.brand.test/", names.PATH),
        ("go.brand.test\\a", names.PATH),
        ("go.brand.test?a", names.PATH),
        ("go.brand.test#a", names.PATH),
        ("℀.test", names.PATH),  # reads as a/c
        ("me@brand.test", names.USER),
        ("go.brand.test:443", names.PORT),
        ("go.brand.test:", names.PORT),
        ("127.0.0.1", names.ADDRESS),
        ("127.0.0.1.", names.ADDRESS),
        ("127.0.0.1:80", names.ADDRESS),
        ("127.1", names.ADDRESS),
        ("2130706433", names.ADDRESS),
        ("0x7f000001", names.ADDRESS),
        ("0x7f.1", names.ADDRESS),
        ("0177.0.0.01", names.ADDRESS),
        ("１２７.0.0.１", names.ADDRESS),
        ("go.brand.123", names.ADDRESS),
        ("::1", names.ADDRESS),
        ("[::1]", names.ADDRESS),
        ("[::1]:443", names.ADDRESS),
        ("fe80::1%eth0", names.ADDRESS),
        ("go brand.test", names.BLANK),
        (" go.brand.test", names.BLANK),
        ("go.brand.test\n", names.BLANK),
        ("go\u3000brand.test", names.BLANK),
        ("go\0.brand.test", names.BLANK),
        ("*.brand.test", names.WILDCARD),
        ("go.*.test", names.WILDCARD),
        ("_dmarc.brand.test", names.UNDERSCORE),
        ("go..brand.test", names.EMPTY_LABEL),
        (".brand.test", names.EMPTY_LABEL),
        ("brand.test..", names.EMPTY_LABEL),
        ("\u00ad.brand.test", names.EMPTY_LABEL),
        (f"{'a' * 64}.test", names.LONG_LABEL),
        (f"{'ü' * 60}.test", names.LONG_LABEL),
        ("-go.brand.test", names.HYPHEN),
        ("go-.brand.test", names.HYPHEN),
        ("ü-.brand.test", names.HYPHEN),
        ("go!.brand.test", names.SIGN),
        ("go$(id).brand.test", names.SIGN),
        ("go%41.brand.test", names.SIGN),
        ("😀.test", names.NO_LETTER),
        ("☃.test", names.NO_LETTER),
        ("a\u200db.test", names.NO_LETTER),
        ("\u0301a.test", names.NO_LETTER),
        ("\ufffd.test", names.NO_LETTER),
        ("xn--.test", names.HYPHEN),
        ("xn--zz.test", names.PUNYCODE),
        ("xn--a.test", names.PUNYCODE),
        ("xn--bcher.test", names.PUNYCODE),
        ("xn--n3h.test", names.PUNYCODE),  # a snowman
        ("xn--go-xyz-.test", names.HYPHEN),
        (f"{IN_PUNYCODE}.test", names.LONG_LABEL),
        ("аpple.test", names.MIXED),  # the first letter is Cyrillic
        ("xn--pple-43d.test", names.MIXED),
        ("gο.brand.test", names.MIXED),  # a Greek omicron
        ("brаnd.test", names.MIXED),
        ("օk.test", names.MIXED),  # Armenian
        ("ꭺpple.test", names.MIXED),  # Cherokee
        ("αа.test", names.MIXED),  # Greek and Cyrillic
    ],
    ids=count(),
)
def test_rejects_what_is_not_a_hostname(sent: str, error: str) -> None:
    with pytest.raises(names.BadName) as refused:
        names.canonical(sent)
    assert str(refused.value) == error


def test_every_error_has_its_own_text() -> None:
    texts = [value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)]
    assert len(set(texts)) == len(texts) > 15
    assert all(text[0].isupper() and text.endswith(".") for text in texts)


@pytest.mark.parametrize(
    "name",
    ["brand.test", "go.brand.test", "brand.co.uk", "brand.github.io", "brand.xn--55qx5d.cn", "www.ck", "a.b.kobe.jp"],
)
def test_what_can_be_registered(name: str) -> None:
    assert names.is_registrable(name)


@pytest.mark.parametrize(
    "name",
    [
        *("localhost", "foo", "com", "test", "co.uk", "github.io", "xn--55qx5d.cn", "foo.ck", "b.kobe.jp"),
        *("go.localhost", "printer.local", "go.corp.internal", "box.home.arpa", "abc.onion", "go.invalid"),
    ],
)
def test_what_has_no_single_owner(name: str) -> None:
    assert names.canonical(name) == name
    assert not names.is_registrable(name)
