"""R12: secrets at rest are bound to their place, and keys can be replaced."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, MetaData, Table, insert, select
from sqlalchemy.exc import StatementError

from waypost.database import Database, Id, KeyRing, Sealed
from waypost.database.secrets import Encrypted, Undecipherable

vault = Table("vault", MetaData(), Column("id", Id, primary_key=True), Column("a", Encrypted), Column("b", Encrypted))
ROW = UUID(int=1)


async def test_it_works(db: Database) -> None:
    ring = KeyRing(["first"])
    async with db.write() as tx:
        await tx.run_sync(vault.create)
        await tx.execute(insert(vault), {"id": ROW, "a": ring.seal(vault.c.a, ROW, "whsec_ä")})
    async with db.read() as tx:
        row = (await tx.execute(select(vault))).one()
    assert ring.open(vault.c.a, ROW, row.a) == "whsec_ä"
    assert row.b is None
    assert b"whsec" not in row.a


async def test_a_column_takes_nothing_unsealed(db: Database) -> None:
    async with db.write() as tx:
        await tx.run_sync(vault.create)
        with pytest.raises(StatementError, match=r"KeyRing\.seal"):
            await tx.execute(insert(vault), {"id": ROW, "a": b"plain text"})


@given(st.text())
def test_whatever_is_sealed_comes_back(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    ring = KeyRing(["key"])
    assert ring.open(vault.c.a, ROW, ring.seal(vault.c.a, ROW, text)) == text


def test_it_opens_nowhere_else() -> None:
    ring = KeyRing(["key"])
    sealed = ring.seal(vault.c.a, ROW, "text")
    for column, row in ((vault.c.a, uuid4()), (vault.c.b, ROW)):
        with pytest.raises(Undecipherable):
            ring.open(column, row, sealed)


@pytest.mark.parametrize("place", range(0, 40, 3))
def test_altered_it_does_not_open(place: int) -> None:
    ring = KeyRing(["key"])
    sealed = bytearray(ring.seal(vault.c.a, ROW, "some text of a length"))
    sealed[place] ^= 1
    with pytest.raises(Undecipherable):
        ring.open(vault.c.a, ROW, Sealed(sealed))


def test_a_new_key_writes_and_the_old_one_still_reads() -> None:
    old = KeyRing(["old"]).seal(vault.c.a, ROW, "text")
    both = KeyRing.from_setting("new, old")
    assert both.open(vault.c.a, ROW, old) == "text"
    assert not both.is_current(old)
    renewed = both.seal(vault.c.a, ROW, "text")
    assert both.is_current(renewed)
    assert KeyRing(["new"]).open(vault.c.a, ROW, renewed) == "text"
    with pytest.raises(Undecipherable):
        KeyRing(["new"]).open(vault.c.a, ROW, old)


def test_nothing_secret_is_shown() -> None:
    sealed = KeyRing(["key"]).seal(vault.c.a, ROW, "text")
    assert repr(sealed) == "Sealed(…)"


@pytest.mark.parametrize("setting", ["", ",", "a,,b"])
def test_an_empty_key_is_no_key(setting: str) -> None:
    with pytest.raises(ValueError, match="non-empty"):
        KeyRing.from_setting(setting)
