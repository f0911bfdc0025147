"""Obtains a certificate and its key for a hostname from the certificate authority.

Stores the service's account at the authority, and the challenges while an order is validated.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError

from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock
from waypost.kit.ids import new_id
from waypost.outbound.acme import Acme, AcmeAccount, PublishChallenge, SigningKey
from waypost.outbound.acme_problems import AuthorityRefused, AuthorityUnavailable
from waypost.resources.domains.model import acme_accounts, acme_challenges

BeforeOrder = Callable[[], Awaitable[None]]
"""Called before anything is ordered."""

_accounts, _challenges = acme_accounts.c, acme_challenges.c


@dataclass(frozen=True, slots=True)
class Validity:
    expires_at: datetime
    renew_at: datetime


@dataclass(frozen=True, slots=True)
class Issued:
    chain: str
    key: str
    validity: Validity


class UnusableChain(ValueError):
    """The message says what is wrong with the chain."""


class Authority:
    def __init__(self, db: Database, acme: Acme, key_ring: KeyRing, *, email: str, clock: Clock) -> None:
        self._db = db
        self._acme = acme
        self._key_ring = key_ring
        self._email = email
        self._clock = clock
        self._registering = asyncio.Lock()

    async def obtain(self, hostname: str, before_order: BeforeOrder) -> Issued:
        """Obtain a certificate. Raises AcmeError, Unavailable, and what `before_order` raises."""
        account = await self._account()
        await before_order()
        try:
            return await self._obtain(account, hostname)
        except AuthorityRefused as refused:
            if refused.kind != "accountDoesNotExist":
                raise
        await self._delete_account()
        return await self._obtain(await self._account(), hostname)

    async def _obtain(self, account: AcmeAccount, hostname: str) -> Issued:
        key = SigningKey.new()
        async with self._challenges() as publish:
            chain = await self._acme.obtain(account, hostname, key.request_for(hostname), publish)
        pem = key.pem()
        try:
            return Issued(chain, pem, check_chain(chain, pem, hostname, self._clock()))
        except UnusableChain as error:
            raise AuthorityUnavailable(f"The certificate from the authority {error}.") from error

    @asynccontextmanager
    async def _challenges(self) -> AsyncIterator[PublishChallenge]:
        tokens: list[str] = []

        async def publish(token: str, key_authorization: str) -> None:
            tokens.append(token)
            row = {"token": token, "key_authorization": key_authorization, "created_at": self._clock()}
            async with self._db.write() as tx:
                await tx.execute(delete(acme_challenges).where(_challenges.token == token))
                await tx.execute(insert(acme_challenges), row)

        yield publish  # not deleted after a failure: the authority may still request it, and the sweep deletes it later
        if tokens:
            async with self._db.write() as tx:
                await tx.execute(delete(acme_challenges).where(_challenges.token.in_(tokens)))

    async def _account(self) -> AcmeAccount:
        """Return the account, registered once for all nodes. If two register concurrently, the first one is used."""
        async with self._registering:
            if account := await self._find_account():
                return account
            registered = await self._acme.register(SigningKey.new(), self._email)
            try:
                await self._save_account(registered)
            except IntegrityError:
                return await self._find_account() or registered
            return registered

    async def _find_account(self) -> AcmeAccount | None:
        query = select(_accounts.id, _accounts.url, _accounts.key).where(_accounts.directory == self._acme.directory)
        async with self._db.read() as tx:
            row = (await tx.execute(query)).one_or_none()
        return row and AcmeAccount(row.url, SigningKey.from_pem(self._key_ring.decrypt(_accounts.key, row.id, row.key)))

    async def _save_account(self, account: AcmeAccount) -> None:
        id_ = new_id()
        row = {"id": id_, "directory": self._acme.directory, "url": account.url}
        row["key"] = self._key_ring.encrypt(_accounts.key, id_, account.key.pem())
        async with self._db.write() as tx:
            await tx.execute(insert(acme_accounts), row)

    async def _delete_account(self) -> None:
        async with self._db.write() as tx:
            await tx.execute(delete(acme_accounts).where(_accounts.directory == self._acme.directory))


def check_chain(chain: str, key: str, hostname: str, now: datetime) -> Validity:
    """Return the validity of a chain. Raises UnusableChain if it cannot be served."""
    try:
        certificate = x509.load_pem_x509_certificates(chain.encode())[0]
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound) as error:
        raise UnusableChain("is not a PEM certificate chain") from error
    if hostname not in names.get_values_for_type(x509.DNSName):
        raise UnusableChain(f"is not for {hostname}")
    key_format = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    expected = load_pem_private_key(key.encode(), password=None).public_key().public_bytes(*key_format)
    if certificate.public_key().public_bytes(*key_format) != expected:
        raise UnusableChain("belongs to another key")
    if certificate.not_valid_after_utc <= now:
        raise UnusableChain("has expired")
    return Validity(certificate.not_valid_after_utc, _renewal(certificate))


def renewal_time(chain: str) -> datetime:
    return _renewal(x509.load_pem_x509_certificate(chain.encode()))


def _renewal(certificate: x509.Certificate) -> datetime:
    """Return the time after two thirds of the validity period."""
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return begin + (end - begin) * 2 / 3
