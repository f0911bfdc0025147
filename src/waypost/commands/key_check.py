"""Refuses a node whose secret key is not the one that the secrets in the database are encrypted with.

The first node to start stores the fingerprint of its key. A node may have several keys: the stored one must be among
them. `waypost secrets rotate` stores that of the first one.
"""

from waypost.database import Database, add_key_fingerprint, find_key_fingerprint
from waypost.secret_key import FILE, fingerprints, with_existing_key, with_secret_key
from waypost.settings import Settings, SettingsError


async def prepare_key(db: Database, settings: Settings, role: str) -> None:
    """Create a key if this is the first node. Raise SettingsError if it has another key than the others, or none.

    A node that only redirects needs none, and never creates or stores one.
    """
    if role == "redirect":
        if with_existing_key(settings).secret_key is None:
            if settings.tls:
                raise SettingsError(f"--tls needs the secret key, which encrypts certificates. {_advice(settings)}")
            return
    else:
        await _store_first(db, settings)
    await check_key(db, settings)


async def check_key(db: Database, settings: Settings) -> None:
    """Raise SettingsError if the stored fingerprint is of another key than those of this node."""
    async with db.read() as tx:
        stored = await find_key_fingerprint(tx)
    if stored is not None:
        _refuse_other_key(settings, stored)


def _refuse_other_key(settings: Settings, stored: bytes) -> None:
    """Raise SettingsError if the stored fingerprint is of no key in the settings or in the data directory."""
    keys = fingerprints(with_existing_key(settings))
    if stored in keys:
        return
    path = settings.data_dir / FILE
    if not keys:
        problem = f"There is no secret key: WAYPOST_SECRET_KEY is not set, and {path} is missing."
    else:
        source = "WAYPOST_SECRET_KEY" if settings.secret_key else path
        problem = f"{source} is not the key that the secrets in the database are encrypted with."
    raise SettingsError(f"{problem} {_advice(settings)}")


def _advice(settings: Settings) -> str:
    return (
        "Copy the key of the other nodes, or of the backup, to WAYPOST_SECRET_KEY or"
        f" {settings.data_dir / FILE}. During a rotation, keep the old key until `waypost secrets rotate` has run."
    )


async def _store_first(db: Database, settings: Settings) -> None:
    """Store the fingerprint of the first key unless there is one."""
    async with db.read() as tx:
        if await find_key_fingerprint(tx) is not None:
            return
    own = fingerprints(with_secret_key(settings))[0]
    async with db.write() as tx:
        await add_key_fingerprint(tx, own)
