"""The database's URL: checked before anything starts, and shown without credentials when it cannot be reached."""

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from waypost.kit.errors import SettingsError

_FORM = (
    "WAYPOST_DATABASE_URL: must be postgresql://user:password@host:port/name, with special characters of user and"
    " password percent-encoded (@ is %40, / is %2F)"
)


def check_postgresql_url(url: str) -> None:
    """Raise SettingsError, with no part of the URL, unless SQLAlchemy and libpq both parse it to the same host."""
    import psycopg  # noqa: PLC0415  # 7 MB, loaded only where PostgreSQL is used
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    try:
        parsed, read = make_url(url), conninfo_to_dict("postgresql://" + url.partition("://")[2])
        ports = [int(port) for port in str(read.get("port") or 5432).split(",")]
    except (ArgumentError, ValueError, psycopg.Error):
        raise SettingsError(_FORM) from None
    if not {"host", "hostaddr", "service", "dbname"} & read.keys():
        raise SettingsError("WAYPOST_DATABASE_URL: names neither a host nor a database") from None
    if "host" not in parsed.query and (parsed.host or None) != read.get("host"):
        raise SettingsError(_FORM)
    if "@" in str(read.get("host", "")) or not all(0 < port < 65_536 for port in ports):
        raise SettingsError(_FORM)


def location_of(url: str) -> str:
    """Return `db.example.com:5432`, or a file; without user name and password."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return parsed.database or ""
    host, port = parsed.query.get("host") or parsed.host, parsed.query.get("port") or parsed.port or 5432
    if host is None:
        return f"port {port} of this machine"
    return ", ".join(f"{name}:{port}" for name in ([host] if isinstance(host, str) else host))
