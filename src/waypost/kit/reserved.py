"""First path segments that are, or plausibly will be, the application's own on the host it shares with short links.

A slug of one of these names would hide a page of the application or be hidden by it. Compared in lower case.
"""

INFRASTRUCTURE = frozenset({"healthz", "readyz", "metrics", "internal"})
"""Asked for by those who know no host name: load balancers, supervisors, proxies beside us."""

API_SEGMENTS = INFRASTRUCTURE | {"api", "media", ".well-known", "robots.txt", "favicon.ico"}
"""Answered by the API's application; what else is the application's own is the dashboard's."""

RESERVED = frozenset({
    # the API and what watches it
    "api", "docs", "openapi.json", *INFRASTRUCTURE,
    # what browsers and crawlers ask every host for
    ".well-known", "robots.txt", "favicon.ico", "sitemap.xml", "manifest.json", "apple-touch-icon.png",
    # files
    "static", "assets", "media", "qr",
    # signing in and out
    "login", "logout", "signup", "register", "invite", "enter", "forgot", "reset", "confirm", "verify",
    "password", "auth", "oauth", "sso",
    # the dashboard
    "dashboard", "links", "domains", "pixels", "webhooks", "clicks", "stats", "analytics", "tags", "qrcodes",
    "account", "settings", "profile", "team", "members", "keys", "tokens", "integrations", "import", "export", "search",
    "billing", "plan", "plans", "pricing", "checkout", "admin",
    # what people look for
    "about", "help", "support", "contact", "status", "legal", "terms", "privacy", "imprint", "security", "abuse",
    "report",
})  # fmt: skip
