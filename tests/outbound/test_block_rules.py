"""The rules of a blocklist in each format, and the spellings of hosts and paths that they match."""

import pytest

from waypost.kit.urls import canonical
from waypost.outbound.block_rules import BlockRules

PLAIN = """
# what we were warned of
bad.example         # a whole host
192.0.2.7
2001:db8::7
münchen.example
.deep.example
*.star.example
b%61d2.example
BAD3.example
https://good.example/bad/page?id=1#frag
http://good.example:8080/x
https://g%6fod.example/enc%6fded/p%C3%A4ge
good.example/without/scheme
https://good.example?without=p%61th/%2f
https://good.example/slash%2fes//and/./dots
"""
HOSTS = """
127.0.0.1 localhost localhost.localdomain
255.255.255.255\tbroadcasthost
::1\tip6-localhost ip6-loopback
fe80::1%lo0 localhost
ff02::1 ip6-allnodes
0.0.0.0 0.0.0.0
# Title: invented hosts
0.0.0.0 bad.example
0.0.0.0\tone.example two.example  # and a comment
127.0.0.1 three.example#without a blank
:: four.example
0.0.0.0 MÜNCHEN.example
"""
ADBLOCK = """
[Adblock Plus 2.0]
! Title: invented rules
||bad.example^
||all.example^$all
||doc.example^$document,important
||wild.example^*
||*.below.example^
||path.example/evil
||page.example/evil^
|https://start.example/a?b=
|https://whole.example/a|
||192.0.2.7/x$all
@@||fine.bad.example^
@@||bad.example/fine^
example.com##.banner
example.com#@#.banner
##.banner
"""


def matches(text: str, url: str) -> bool:
    rules = BlockRules(text.splitlines())
    assert (rules.problems, rules.first_problem) == (0, "")
    return rules.match(canonical(url))


@pytest.mark.parametrize(
    "url",
    [
        "http://bad.example:8080/any?thing",
        "http://BAD.example/",
        "http://192.0.2.7/",
        "http://[2001:db8:0::7]/x",
        "https://xn--mnchen-3ya.example/",
        "https://deep.example/",
        "https://very.deep.example/",
        "https://very.star.example/",
        "https://bad2.example/",
        "https://bad3.example/",
        "http://good.example/bad/page?id=1",
        "https://good.example/x/../bad/page?id=1#other",
        "https://good.example/b%61d/page?%69d=1",
        "https://good.example/b%2561d/page?id=1",
        "https://good.example//bad///page?id=1",
        "https://good.example/x/%252e%252e/bad/page?id=1",
        "https://good.example:8080/x",
        "https://good.example:8080/%78",
        "https://good.example/encoded/p%c3%a4ge",
        "https://good.example/encoded/p\u00e4ge",
        "https://good.example/without/scheme",
        "https://good.example/?without=path//",
        "https://good.example/slash/es/and/dots",
    ],
)
def test_plain_lists_match(url: str) -> None:
    assert matches(PLAIN, url)


@pytest.mark.parametrize(
    "url",
    [
        "https://sub.bad.example/",
        "https://notbad.example/",
        "https://notdeep.example/",
        "https://good.example/bad/page?id=2",
        "https://good.example/bad/page?id=%31%31",
        "https://good.example/bad/page",
        "https://good.example/bad/page/?id=1",
        "https://good.example/x",
        "https://good.example/encoded/",
        "https://good.example/Bad/page?id=1",
    ],
)
def test_plain_lists_do_not_match(url: str) -> None:
    assert not matches(PLAIN, url)


@pytest.mark.parametrize(
    ("host", "is_listed"),
    [
        *((f"{name}.example", True) for name in ("bad", "one", "two", "three", "four", "xn--mnchen-3ya")),
        ("sub.bad.example", False),
        ("and.example", False),
        ("comment.example", False),
    ],
)
def test_files_in_the_format_of_hosts_name_whole_hosts(host: str, is_listed: bool) -> None:
    assert matches(HOSTS, f"https://{host}/page") == is_listed


@pytest.mark.parametrize(
    ("url", "is_listed"),
    [
        ("https://bad.example/", True),
        ("https://sub.bad.example/x", True),
        ("https://notbad.example/", False),
        ("https://fine.bad.example/", False),
        ("https://very.fine.bad.example/", False),
        ("https://bad.example/fine?x", False),
        ("https://bad.example/finest", True),
        ("https://all.example/", True),
        ("https://doc.example/", True),
        ("https://wild.example/", True),
        ("https://x.below.example/", True),
        ("https://path.example/evil", True),
        ("https://www.path.example/ev%69l/more", True),
        ("https://path.example/evildoer", True),
        ("https://path.example/good", False),
        ("https://page.example/evil", True),
        ("https://page.example/evil?x=1", True),
        ("https://page.example/evil/x", True),
        ("https://page.example/evildoer", False),
        ("https://start.example/a?b=c", True),
        ("https://sub.start.example/a?b=c", False),
        ("https://whole.example/%61", True),
        ("https://whole.example/ab", False),
        ("http://192.0.2.7/x.bin", True),
        ("http://192.0.2.7/", False),
        ("https://example.com/", False),
    ],
)
def test_adblock_rules(url: str, is_listed: bool) -> None:
    assert matches(ADBLOCK, url) == is_listed


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("not a host", "not a host: The URL must not contain spaces"),
        ("93.184.216.34 other.example", "A line that blocks hosts begins with 0.0.0.0."),
        ("0.0.0.0 fine.example bad_:x", "bad_:x: The URL's host or port is not valid."),
        ("||ads.example^$third-party", "A rule with these options is not about whole pages."),
        ("||ads.example^$script,domain=x.example", "A rule with these options is not about whole pages."),
        ("||a*.example^", "A rule must name a host, or the beginning of a URL."),
        ("||", "A rule must name a host, or the beginning of a URL."),
        ("@@||", "A rule must name a host, or the beginning of a URL."),
        ("|ads", "A rule must name a host, or the beginning of a URL."),
        ("/banner/*/img", "The URL has no host."),
        ("/ads[0-9]+/", "The URL has no host."),
        ("-ad-banner.", "The URL's host must not end with a dot."),
        ("https://user@bad.example/", "must not contain a user name"),
        ("https://", "The URL has no host."),
        (".", "The URL has no host."),
        ("bad%2Fexample%40x", "The host is not valid."),
        ("bad%40example.com", "must not contain a user name"),
        ("bad%0Aexample.com", "must not contain spaces or control characters"),
        ("a" * 5_000, "This has more than 4,096 characters."),
    ],
)
def test_names_the_first_line_that_is_left_out(line: str, reason: str) -> None:
    rules = BlockRules(["first.example", line, line, "last.example"])
    assert rules.problems == 2
    assert rules.first_problem.startswith("line 2: ")
    assert reason in rules.first_problem
    for host in ("first", "last"):
        assert rules.match(canonical(f"https://{host}.example/"))
    assert not rules.match(canonical("https://ads.example/"))


def test_rules_of_one_kind_alone_are_a_list() -> None:
    for line in ("bad.example", "https://bad.example/x", "||bad.example/x"):
        assert BlockRules([line])
    assert not BlockRules(["@@||good.example^", "not a host"])


def test_very_many_beginnings_of_one_host_are_compared_by_their_lengths() -> None:
    rules = BlockRules([f"||many.example/{number:06}/evil^" for number in range(20_000)])
    assert rules.match(canonical("https://many.example/019999/evil/x"))
    assert not rules.match(canonical("https://many.example/020000/evil/x"))
