"""The database: transactions, column types, secrets at rest, migrations. It knows no other package's tables."""

from waypost.database.batches import batches_of, read_in_batches, rows_with
from waypost.database.engine import Database, after_commit, share_advisory_lock, take_advisory_lock, upsert
from waypost.database.key_fingerprint import add_key_fingerprint, find_key_fingerprint, replace_key_fingerprint
from waypost.database.rows import NamedRow, Result
from waypost.database.secrets import Ciphertext, DecryptionFailed, Encrypted, KeyRing
from waypost.database.tables import Id, Instant, Json, metadata, only_where
from waypost.database.transaction import Tx
