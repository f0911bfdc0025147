"""`waypost import`."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from waypost.commands.runner import AccountOption, FlagOption, JsonOption, Settings, with_settings

SourceArgument = Annotated[
    Literal["bitly", "rebrandly", "short-io", "dub", "yourls", "kutt", "shlink", "spoo-me", "csv", "waypost"],
    Parameter(help="The service, or csv for a CSV file, or waypost for an archive of `waypost export all`."),
]
DomainsOption = Annotated[
    tuple[str, ...],
    Parameter(
        name="--domain",
        negative="",
        show_default=False,
        help="FROM=TO, repeatable: links of the hostname FROM go to this domain of the account, others to the shared"
        " domain.",
    ),
]


@with_settings
async def import_links(
    settings: Settings,
    source: SourceArgument,
    /,
    *,
    account: AccountOption,
    url: str | None = None,
    token_file: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    file: Path | None = None,
    domain: DomainsOption = (),
    clicks: FlagOption = False,
    timezone: str | None = None,
    encoding: str | None = None,
    reserve_deleted_slugs: FlagOption = False,
    dry_run: FlagOption = False,
    json: JsonOption = False,
) -> int:
    """Import links from another service or a file. Run it again to continue, or to import what changed there.

    Parameters
    ----------
    url
        Origin of the service, such as https://links.example.com, instead of the vendor's.
    token_file
        File with the token for the service's API; - is stdin.
    file
        CSV file, SQL dump of YOURLS, or archive.
    clicks
        Also import clicks, where the source has their times. Otherwise its totals are kept apart.
    timezone
        Of times without a time zone, such as Europe/Berlin. Default: UTC.
    encoding
        Of a CSV file or SQL dump, such as cp1252. Default: what the file shows.
    reserve_deleted_slugs
        Reserve the slugs of deleted links in an archive for the account, so that no other can have them.
    dry_run
        Change nothing; report what would be imported.

    """
    from waypost.commands import imports

    options = imports.ImportOptions(
        source, account, url, token_file, file, domain, clicks, timezone, encoding, dry_run, reserve_deleted_slugs
    )
    report, code = await imports.run(settings, options)
    imports.show(report, "Dry run: nothing was changed. " if dry_run else "", as_json=json)
    return code
