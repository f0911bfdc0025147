"""R12: secrets at rest are bound to their column and row, and keys can be rotated."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, MetaData, Table, insert, select

from waypost.database import Ciphertext, Database, Id, KeyRing
from waypost.database.secrets import DecryptionFailed, Encrypted

vault = Table("vault", MetaData(), Column("id", Id, primary_key=True), Column("a", Encrypted), Column("b", Encrypted))
ROW = UUID(int=1)


async def test_stores_and_reads_a_secret(db: Database) -> None:
    ring = KeyRing(["first"])
    await db.run_sync(vault.create)
    async with db.write() as tx:
        await tx.execute(insert(vault), {"id": ROW, "a": ring.encrypt(vault.c.a, ROW, "whsec_ä")})
    async with db.read() as tx:
        row = (await tx.execute(select(vault))).one()
    assert ring.decrypt(vault.c.a, ROW, row.a) == "whsec_ä"
    assert row.b is None
    assert b"whsec" not in row.a


async def test_an_encrypted_column_refuses_plain_text(db: Database) -> None:
    await db.run_sync(vault.create)
    async with db.write() as tx:
        with pytest.raises(TypeError, match=r"KeyRing\.encrypt"):
            await tx.execute(insert(vault), {"id": ROW, "a": b"plain text"})


@given(st.text())
def test_opens_any_sealed_text(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    ring = KeyRing(["key"])
    assert ring.decrypt(vault.c.a, ROW, ring.encrypt(vault.c.a, ROW, text)) == text


def test_does_not_open_in_another_row_or_column() -> None:
    ring = KeyRing(["key"])
    ciphertext = ring.encrypt(vault.c.a, ROW, "text")
    for column, row in ((vault.c.a, uuid4()), (vault.c.b, ROW)):
        with pytest.raises(DecryptionFailed):
            ring.decrypt(column, row, ciphertext)


@pytest.mark.parametrize("place", range(0, 40, 3))
def test_does_not_open_altered_values(place: int) -> None:
    ring = KeyRing(["key"])
    ciphertext = bytearray(ring.encrypt(vault.c.a, ROW, "some text of a length"))
    ciphertext[place] ^= 1
    with pytest.raises(DecryptionFailed):
        ring.decrypt(vault.c.a, ROW, Ciphertext(ciphertext))


def test_the_first_key_seals_and_all_keys_open() -> None:
    old = KeyRing(["old"]).encrypt(vault.c.a, ROW, "text")
    both = KeyRing.from_setting("new, old")
    assert both.decrypt(vault.c.a, ROW, old) == "text"
    assert not both.is_current(old)
    renewed = both.encrypt(vault.c.a, ROW, "text")
    assert both.is_current(renewed)
    assert KeyRing(["new"]).decrypt(vault.c.a, ROW, renewed) == "text"
    with pytest.raises(DecryptionFailed):
        KeyRing(["new"]).decrypt(vault.c.a, ROW, old)


def test_repr_shows_no_secret() -> None:
    ciphertext = KeyRing(["key"]).encrypt(vault.c.a, ROW, "text")
    assert repr(ciphertext) == "Ciphertext(…)"


@pytest.mark.parametrize("setting", ["", ",", "a,,b"])
def test_refuses_an_empty_key(setting: str) -> None:
    with pytest.raises(ValueError, match="non-empty"):
        KeyRing.from_setting(setting)
