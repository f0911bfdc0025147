"""Runs turns of imports in a process that stops at a function, so that a test can kill it there.

Arguments: database URL, data directory, current time, the function and the number of its call.
"""

import asyncio
import sys
import time
from datetime import datetime
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

from browsing import WebApp
from people import BASE_URL, FakeClock
from resources.imports.test_pages import work_off

from waypost.database import Database
from waypost.secret_key import with_existing_key
from waypost.settings import Settings


def stop_at(path: str, number: int) -> None:
    module_name, _, name = path.rpartition(".")
    module = import_module(module_name)
    original, calls = getattr(module, name), 0

    def stopping(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            sys.stdout.write("stopped\n")
            sys.stdout.flush()
            time.sleep(600)  # until it is killed
        return original(*arguments, **named)

    setattr(module, name, stopping)


async def main(database_url: str, data_dir: str, now: str, function: str, number: str) -> None:
    settings = with_existing_key(
        Settings(base_url=BASE_URL, database_url=database_url, data_dir=data_dir, shared_domain="go.test")  # type: ignore[arg-type]
    )
    db = Database(database_url)
    stop_at(function, int(number))
    clock = FakeClock(datetime.fromisoformat(now))
    await work_off(cast(WebApp, SimpleNamespace(settings=settings, db=db, clock=clock)))
    await db.close()


asyncio.run(main(*sys.argv[1:]))
