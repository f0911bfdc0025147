"""Identities that wait for their person to sign in, sealed for a cookie: nothing is stored for strangers."""

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING

from waypost.accounts.model import Role
from waypost.accounts.oidc.rules import Identity, role_of

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

LIFETIME = 900  # seconds


def seal(key: bytes, identity: Identity, role_by_group: Mapping[str, Role], now: datetime) -> str:
    """Keep what a connection needs, in the 4 KB of a cookie: one group with the role of all."""
    role = role_of(identity.groups, role_by_group)
    group = tuple(each for each in identity.groups if role and role_by_group.get(each) == role)[:1]
    kept = replace(identity, name="", id_token="", groups=group)
    return _cipher(key).encrypt_at_time(json.dumps(asdict(kept)).encode(), int(now.timestamp())).decode()


def unseal(key: bytes, text: str, now: datetime) -> Identity | None:
    from cryptography.fernet import InvalidToken  # noqa: PLC0415  # see below

    try:
        fields = json.loads(_cipher(key).decrypt_at_time(text, LIFETIME, int(now.timestamp())))
    except (InvalidToken, ValueError):  # not ours, changed or old
        return None
    return Identity(**{**fields, "groups": tuple(fields["groups"])})


def _cipher(key: bytes) -> "Fernet":
    from cryptography.fernet import Fernet  # noqa: PLC0415  # 9 MB, which an idle process does without

    return Fernet(base64.urlsafe_b64encode(key))
