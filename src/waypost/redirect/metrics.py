"""Metrics of redirects. The fast path adds to plain lists, once per iteration of the event loop."""

from waypost.metrics import LATENCY_BUCKETS, Counter, Histogram

_RESULTS = (
    "redirected",
    "pixel_page",
    "preview",
    "info_page",
    "report_page",
    "password_page",
    "app_links",
    "not_found",
    "unavailable",
)

_requests = Counter(
    "waypost_redirects_total", "Requests for short links by result.", ("result",), starts=[(each,) for each in _RESULTS]
)
REDIRECTED, PIXEL_PAGE, PREVIEW, INFO_PAGE, REPORT_PAGE, PASSWORD_PAGE, APP_LINKS, NOT_FOUND, UNAVAILABLE = map(
    _requests.series, _RESULTS
)

LATENCY = Histogram("waypost_redirect_seconds", "Time to answer a request for a short link.")
FAST_LATENCY = LATENCY.series()
BUCKETS_NS = tuple(round(seconds * 1e9) for seconds in LATENCY_BUCKETS)

CACHE_MISSES = Counter(
    "waypost_route_cache_misses_total", "Routes read from the database because they were not in memory."
).series()
DROPPED = Counter("waypost_visits_dropped_total", "Visits that could not be stored in the spool: they are not counted.")
