"""The statements that are executed within a block, those of transactions included: a place for tests to look in."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from waypost.database.postgres import PostgresConnection
from waypost.database.sqlite import InLoop, InThread


@contextmanager
def watched(before: Callable[[str, Any], object], after: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Call with each statement and its parameters, and after it."""

    def watching(execute: Any) -> Any:
        async def watch(self: Any, sql: str, parameters: Any = None) -> Any:
            before(sql, parameters)
            executed = await execute(self, sql, parameters)
            after()
            return executed

        return watch

    with pytest.MonkeyPatch.context() as patched:
        for driver in (InLoop, InThread, PostgresConnection):
            patched.setattr(driver, "execute", watching(driver.execute))
        yield


@contextmanager
def noted() -> Iterator[list[tuple[str, Any]]]:
    """Note each statement with its parameters."""
    statements: list[tuple[str, Any]] = []
    with watched(lambda *statement: statements.append(statement)):
        yield statements
