"""Emails: queued in the caller's transaction, sent by the worker through the operator's mail server."""

from waypost.mail.queue import (
    IMAGE_ID,
    JOB,
    MAX_PER_HOUR,
    MAX_STATISTICS,
    MailDirectory,
    MailKind,
    SendMail,
    count,
    delete_unsent,
    handler,
    log_mail,
    send_later,
)
