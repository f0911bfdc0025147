"""The audit log of each account: who changed what, when and from where. Written in the transaction of the change."""

from waypost.audit.actions import AuditAction
from waypost.audit.changes import compare, compare_secrets, plain
from waypost.audit.model import Actor, Changes, Item
from waypost.audit.store import new_entry_id, record, record_progress
