"""Why a request failed, for people."""

import pytest

from waypost.outbound import Unreachable


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("dns: there is no such host", "there is no such host"),
        ("dns: timed out", "the DNS lookup timed out"),
        ("tls: certificate has expired", "HTTPS failed: certificate has expired"),
        ("timed out", "timed out"),
    ],
)
def test_says_why_in_words(reason: str, words: str) -> None:
    assert Unreachable(reason).in_words == words
