"""Which missed addresses are worth to be shown: those that people meant. Pure."""

import re
from collections import Counter
from collections.abc import Iterable

from waypost.redirect import MissedVisits
from waypost.resources.domains.missed.model import MAX_PATH

_SCANNED = re.compile(
    r"""
    \.(?:php\d?|phtml|aspx?|ashx|jspx?|do|action|cgi|pl|py|rb|sh|exe|dll|env|git|svn|hg|sql|sqlite|db|bak|old|orig|swp
      |save|log|ini|conf|config|cfg|ya?ml|toml|xml|json|txt|csv|key|pem|crt|zip|tar|t?gz|rar|7z|js|map|css|png|jpe?g|gif
      |ico|svg|webp|woff2?|well-known)(?:[/?~].*)?$
    | ^\.                                                    # hidden files and .well-known
    | /\.
    | ^(?:wp|wp-.*|wordpress|phpmyadmin|pma|mysql|adminer|cgi-bin|xmlrpc|vendor|actuator|solr|owa|ecp|autodiscover
      |remote|boaform|hnap1|geoserver|telescope|_ignition|_profiler|server-status|console|manager|druid|nacos|jenkins|hudson
      |struts|api|v1|v2|graphql|swagger|ews|sdk|evox|nmaplowercheck.*|apple-touch-icon.*|null|undefined)(?:/.*)?$
    | [<>{}|\\^`\x00-\x1f\x7f]
    | \.\.
    | (?:union|select|sleep|concat|waitfor|eval|system)\s*\(
    | (?:https?|ftp|file|php|jndi|ldap):
    """,
    re.IGNORECASE | re.VERBOSE,
)


def worth_showing(found: Iterable[MissedVisits]) -> dict[str, Counter[str]]:
    """Return the visits of each path, by host. Paths have a leading slash, and are not percent-encoded.

    What only scanners look for is left out, and what is no text.
    """
    of_hosts: dict[str, Counter[str]] = {}
    for host, raw, visits in found:
        path = raw.decode(errors="replace")[:MAX_PATH]
        if path.isprintable() and "\ufffd" not in path and not _SCANNED.search(path):
            of_hosts.setdefault(host.decode("ascii", "ignore"), Counter())[f"/{path}"] += visits
    return of_hosts
