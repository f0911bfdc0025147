"""The pure decisions about links."""

from datetime import timedelta

import pytest
from people import START

from waypost.kit.ids import new_id
from waypost.kit.urls import canonical
from waypost.resources.links import rules
from waypost.resources.links.model import Link


@pytest.mark.parametrize(
    ("url", "own", "is_loop"),
    [
        ("http://go.test/x", "go.test", True),
        ("https://GO.test/x", "go.test", True),
        ("https://go.test:80/x", "go.test:443", True),
        ("http://go.test:8080/x", "go.test", False),
        ("http://go.test:8080/x", "go.test:8080", True),
        ("http://go.test/x", "go.test:8080", False),
        ("http://sub.go.test/x", "go.test", False),
        ("http://127.0.0.1:8000/x", "127.0.0.1:8000", True),
        ("http://[::1]:8000/x", "[0:0::1]:8000", False),
        ("http://[::1]:8000/x", "[::1]:8000", True),
    ],
)
def test_a_loop_has_the_same_host_and_port(url: str, own: str, is_loop: bool) -> None:
    assert rules.is_own_host(canonical(url), ["other.test", own]) == is_loop


@pytest.mark.parametrize(
    ("is_enabled", "seconds", "status"),
    [
        (True, None, "active"),
        (True, 1, "active"),
        (True, 0, "inactive"),
        (True, -1, "inactive"),
        (False, None, "inactive"),
        (False, 1, "inactive"),
    ],
)
def test_a_link_is_active_while_it_resolves(is_enabled: bool, seconds: int | None, status: str) -> None:
    expires_at = None if seconds is None else START + timedelta(seconds=seconds)
    link = Link(new_id(), new_id(), START, START, is_enabled=is_enabled, expires_at=expires_at)
    assert link.status_at(START) == status
