"""`waypost --remote URL link`."""

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from waypost.commands.clicks import FromOption
from waypost.commands.runner import JsonOption, LimitOption, say

if TYPE_CHECKING:
    from waypost_client import Waypost
    from waypost_client.models import Link

    Client = Waypost
else:  # given by `remote.run`, which loads it
    Client = Annotated[Any, Parameter(parse=False)]

StatusOption = Literal["active", "inactive"]
IntervalOption = Literal["hour", "day", "week", "month"]
LinkArgument = Annotated[str, Parameter(help="ID, slug or short URL.")]
TagsOption = Annotated[list[str] | None, Parameter(name="--tag", negative="")]

_COLUMNS = ("id", "short_url", "clicks", "status", "tags", "destination_url")

link = App(name="link", help="Links of the account.")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LinkOptions:
    """Fields that links are created with and changed."""

    slug: str | None = None
    """Path of the short URL. Default of a new link: generated."""
    title: str | None = None
    """Title. Default of a new link: the title of the destination's page."""
    hostname: str | None = None
    """Custom domain of the account. Default of a new link, and "": the shared domain."""
    tags: TagsOption = None
    """A tag, in place of all that the link has; repeat it for several."""
    expires_at: str | None = None
    """Time of expiry, such as 2026-12-31T23:59:59Z; "" for never."""


_NONE = LinkOptions()


@link.command
def create(destination_url: str, /, *, options: LinkOptions = _NONE, json: JsonOption = False, client: Client) -> None:
    """Create a link.

    Parameters
    ----------
    destination_url
        Where visitors are redirected to.

    """
    from waypost.commands import remote_output

    remote_output.write(client.links.create(destination_url=destination_url, **vars(options)), as_json=json)


@link.command(name="list")
def list_links(
    *,
    search: str | None = None,
    tag: str | None = None,
    hostname: str | None = None,
    status: StatusOption | None = None,
    limit: LimitOption = 100,
    json: JsonOption = False,
    client: Client,
) -> None:
    """List links, newest first.

    Parameters
    ----------
    search
        Text in title, slug, aliases, destination or note.
    tag
        Links with exactly this tag.
    hostname
        Links on this domain.
    status
        Links with this status.
    limit
        Number of links, at most.

    """
    from waypost.commands import remote_output

    links = client.links.list(search=search, tag=tag, hostname=hostname, status=status, per_page=min(limit, 99) + 1)
    remote_output.write_list(list(islice(links, limit)), _COLUMNS, as_json=json)
    if next(links, None):
        say(f"There are more than {limit:,} links: use --limit.")


@link.command
def get(link: LinkArgument, /, *, json: JsonOption = False, client: Client) -> None:
    """Show a link."""
    from waypost.commands import remote_output

    remote_output.write(find(client, link), as_json=json)


@link.command
def update(
    link: LinkArgument,
    /,
    *,
    destination_url: str | None = None,
    options: LinkOptions = _NONE,
    status: StatusOption | None = None,
    json: JsonOption = False,
    client: Client,
) -> None:
    """Change a link. What is not given stays; an empty text ("") removes a value.

    Parameters
    ----------
    destination_url
        Where visitors are redirected to.
    status
        inactive disables the link.

    """
    from waypost.commands import remote_output

    given = {"destination_url": destination_url, **vars(options), "status": status}
    changes: Any = {name: None if value in ("", [""]) else value for name, value in given.items() if value is not None}
    remote_output.write(client.links.update(find(client, link).id, **changes), as_json=json)


@link.command
def delete(*links: Annotated[str, Parameter(name="link", help="IDs, slugs or short URLs.")], client: Client) -> None:
    """Delete links."""
    for each in [find(client, link) for link in links]:
        client.links.delete(each.id)
        say(f"Deleted {each.short_url}.")


@link.command
def stats(
    link: LinkArgument,
    /,
    *,
    start: FromOption = None,
    end: Annotated[str | None, Parameter(name="--to")] = None,
    interval: IntervalOption = "day",
    timezone: str = "UTC",
    json: JsonOption = False,
    client: Client,
) -> None:
    """Show the statistics of a link, of the last 30 days by default.

    Parameters
    ----------
    start
        Start of the time range, such as 2026-11-20T00:00:00Z.
    end
        End of the time range, exclusive.
    interval
        Length of an entry of the series.
    timezone
        Time zone of the intervals, such as Europe/Berlin.

    """
    from waypost.commands import remote_output

    id_ = find(client, link).id
    found = client.links.stats(id_, from_=start, to=end, interval=interval, timezone=timezone)
    remote_output.write_stats(found, as_json=json)


def find(client: Client, name: str) -> "Link":
    """Return the link with this ID, slug or short URL. Raises NotFound."""
    from uuid import UUID

    from waypost_client import NotFound

    try:
        return client.links.get(str(UUID(name)))
    except ValueError:
        slug = name.rstrip("/").rpartition("/")[2]
    found = next((each for each in client.links.list(search=slug) if each.slug == slug), None)
    if found is None:
        raise NotFound(f"The account has no link {name}.")
    return found
