"""Emails: queued in the caller's transaction, sent by the worker through the operator's mail server."""

from waypost.mail.queue import (
    JOB,
    MAX_PER_HOUR,
    MailDirectory,
    MailKind,
    SendMail,
    delete_unsent,
    handler,
    log_mail,
    send_later,
)

__all__ = [
    "JOB",
    "MAX_PER_HOUR",
    "MailDirectory",
    "MailKind",
    "SendMail",
    "delete_unsent",
    "handler",
    "log_mail",
    "send_later",
]
