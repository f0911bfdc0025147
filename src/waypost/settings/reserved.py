"""First path segments that the application uses, or plausibly will, on the host it shares with short links.

A slug with one of these names would conflict with a page of the application. Compared in lower case.
"""

INFRASTRUCTURE = frozenset({"healthz", "readyz", "metrics", "internal"})
"""Requested under any host name, by load balancers, supervisors and local proxies."""

API_SEGMENTS = INFRASTRUCTURE | {"api", "mcp", "media", ".well-known", "robots.txt", "favicon.ico"}
"""Served by the API's application. The dashboard serves all others."""

RESERVED = frozenset({
    # the API and monitoring
    "api", "docs", "mcp", "openapi.json", *INFRASTRUCTURE,
    # requested from every host by browsers and crawlers
    ".well-known", "robots.txt", "favicon.ico", "sitemap.xml", "manifest.json", "apple-touch-icon.png",
    # files
    "static", "assets", "media", "qr",
    # signing in and out
    "login", "logout", "setup", "signup", "register", "invite", "enter", "forgot", "reset", "confirm", "verify",
    "password", "auth", "oauth", "sso",
    # the dashboard
    "dashboard", "design", "links", "domains", "pixels", "webhooks", "clicks", "stats", "analytics", "tags", "qrcodes",
    "share", "shares",
    "account", "settings", "profile", "team", "members", "keys", "tokens", "integrations", "import", "export", "search",
    "billing", "plan", "plans", "pricing", "checkout", "admin", "operator",
    # common pages
    "about", "help", "support", "contact", "status", "legal", "terms", "privacy", "imprint", "security", "abuse",
    "report",
})  # fmt: skip
