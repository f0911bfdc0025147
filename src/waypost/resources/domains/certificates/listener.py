"""The TLS context of this process's listener."""

import asyncio
import contextlib
import ssl
from urllib.parse import urlsplit

from waypost.database import Database, KeyRing
from waypost.kit.errors import Unavailable
from waypost.resources.domains.certificates.contexts import ContextRefresher, TlsContexts
from waypost.settings import Settings
from waypost.worker.loop import every


async def tls_context(
    settings: Settings, db: Database, key_ring: KeyRing, tasks: "list[asyncio.Task[None]]"
) -> ssl.SSLContext:
    """The TLS context of the listener. A task added to `tasks` keeps it up to date."""
    contexts = TlsContexts(key_ring, urlsplit(settings.base_url).hostname or "")
    refresher = ContextRefresher(db, contexts)
    with contextlib.suppress(Unavailable):  # the task logs it and tries again
        await refresher.refresh()
    tasks.append(asyncio.create_task(every(1, refresher.refresh)))
    return contexts.listening
