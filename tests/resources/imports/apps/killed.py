"""A turn whose process is killed, as by the system when no memory is left."""

import os
import signal
from typing import Any


async def run_import(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
