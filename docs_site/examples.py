"""An example of each object that the API returns, by its name in the OpenAPI document. Tests compare both."""

from typing import Any

from waypost.resources.domains.app_links.schemas import AppLinksFields

BASE_URL = "https://go.example.com"

_LINK = "01a1fbb2-2855-72ee-8e77-c161c4205e89"
_CREATED = {"created_at": "2026-11-20T02:56:16.123456Z"}
_CHANGED = {**_CREATED, "updated_at": "2026-11-20T02:56:16.123456Z"}
_API_KEY = {
    "id": "01a1fbb2-1d20-7b6e-9a55-3f0c8e7d6b54",
    "name": "Deployment",
    "prefix": "wp_3fA9",
    "scopes": ["links:read", "links:write"],
    "last_used_at": "2026-11-23T09:14:02.551203Z",
    "expires_at": None,
    **_CREATED,
}
_WEBHOOK = {
    "id": "01a1fbb2-7a10-7e55-8c1d-2f6d8b9a4c21",
    "url": "https://hooks.example.com/waypost",
    "event_types": ["link.created", "link.clicked"],
    **_CHANGED,
}
_QR_IMAGE = f"{BASE_URL}/api/v1/qrcodes/01a1fbb2-2a77-7f10-b7a4-51c9d20e6f38/image"
_STATS = {
    "from": "2026-11-19T00:00:00.000000Z",
    "to": "2026-11-20T09:30:00.000000Z",
    "interval": "day",
    "timezone": "UTC",
    "clicks": 59,
    "visitors": 51,
    "scans": 3,
    "crawlers": 12,
    "previews": 9,
    "first_clicked_at": "2026-11-19T00:14:09.215000Z",
    "last_clicked_at": "2026-11-20T09:28:51.030000Z",
    "series": [
        {"at": "2026-11-19T00:00:00.000000Z", "clicks": 41, "visitors": 36, "scans": 2},
        {"at": "2026-11-20T00:00:00.000000Z", "clicks": 18, "visitors": 15, "scans": 1},
    ],
    "countries": [{"value": "DE", "clicks": 38}, {"value": "FR", "clicks": 21}],
    "referrers": [{"value": "https://news.example/today", "clicks": 40}],
    "devices": [{"value": "mobile", "clicks": 33}, {"value": "desktop", "clicks": 26}],
    "browsers": [{"value": "Firefox", "clicks": 30}, {"value": "Chrome", "clicks": 29}],
    "platforms": [{"value": "Android", "clicks": 33}, {"value": "Windows", "clicks": 26}],
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "Link": {
        "id": _LINK,
        "title": "Pricing",
        "destination_url": "https://example.com/pricing?utm_source=newsletter&utm_campaign=spring",
        "short_url": "go.example.com/spring",
        "slug": "spring",
        "hostname": "go.example.com",
        "og_title": "Pricing",
        "og_description": None,
        "og_image": "https://example.com/card.png",
        "utm_params": {"utm_source": "newsletter", "utm_campaign": "spring"},
        "tags": ["mail"],
        "expires_at": None,
        "pixel_ids": [],
        "clicks": 812,
        "status": "active",
        **_CHANGED,
    },
    "QrCode": {
        "id": "01a1fbb2-2a77-7f10-b7a4-51c9d20e6f38",
        "link_id": _LINK,
        "foreground": "#1d3557",
        "background": "#ffffff",
        "level": "Q",
        "style": "dots",
        "size": 512,
        "margin": 4,
        "warnings": [],
        "scans": 33,
        "image_url": f"{_QR_IMAGE}/png?v=…&signature=…",
        "svg_url": f"{_QR_IMAGE}/svg?v=…&signature=…",
        **_CHANGED,
    },
    "Click": {
        "id": "01a1fbb2-9c41-7bd0-a1f6-0f3f5c1d2e3f",
        "link_id": _LINK,
        "ip": "203.0.113.9",
        "country": "DE",
        "visitor_id": "9f2c51d07a3be844",
        "referrer": "https://news.example/today",
        "device": "mobile",
        "browser": "Firefox",
        "platform": "Android",
        **_CREATED,
        "is_scan": False,
        "kind": "human",
        "bot": None,
    },
    "LinkStats": {"link_id": _LINK, **_STATS, "imported_clicks": 0, "targets": [{"value": "iPhone", "clicks": 21}]},
    "AccountStats": {
        **_STATS,
        "top_links": [{"link_id": _LINK, "short_url": "go.example.com/spring", "title": "Pricing", "clicks": 44}],
    },
    "Domain": {
        "id": "01a1fbb2-4d0b-7a3c-8f8e-7c6b5a493827",
        "hostname": "go.brand.com",
        "status": "verified",
        "verified_at": "2026-11-20T03:02:40.018225Z",
        "last_checked_at": "2026-11-23T03:02:41.730112Z",
        "error": None,
        "dns_records": [
            {"type": "TXT", "name": "_waypost.go.brand.com", "value": "waypost-3f9a…"},
            {"type": "CNAME", "name": "go.brand.com", "value": "go.example.com"},
        ],
        "root_url": "https://brand.com/",
        "not_found_url": None,
        "links_count": 12,
        "tls": {"status": "active", "expires_at": "2027-02-18T02:03:05.000000Z", "error": None},
        **_CHANGED,
    },
    "Alias": {
        "id": "01a1fbb2-5e07-7c7a-9d1b-6b0b7a3c9e20",
        "link_id": _LINK,
        "hostname": "go.brand.com",
        "path": "2026/Spring sale",
        **_CREATED,
    },
    "AppLinks": AppLinksFields.EXAMPLE,
    "Routing": {
        "link_id": _LINK,
        "rules": [
            {
                "name": "iPhone",
                "conditions": [{"type": "platform", "operator": "in", "values": ["iOS"]}],
                "destination_url": "https://example.com/ios",
            }
        ],
        "variants": [{"name": "B", "destination_url": "https://example.com/b", "weight": 50}],
        "starts_at": None,
        "click_limit": 1000,
        "fallback_url": "https://example.com/over",
        "has_password": False,
        "updated_at": "2026-11-23T07:00:00.000000Z",
    },
    "Pixel": {
        "id": "01a1fbb2-5e07-7c7a-9d1b-6b0b7a3c9e10",
        "platform": "facebook",
        "name": "Spring audience",
        **_CHANGED,
    },
    "PixelResults": {
        "sent": 1204,
        "rejected": 1,
        "dropped": 0,
        "sent_at": "2026-11-23T09:14:07.120944Z",
        "reason": "400: Invalid parameter",
        "reason_at": "2026-11-21T17:40:12.501837Z",
    },
    "Webhook": _WEBHOOK,
    "CreatedWebhook": {**_WEBHOOK, "secret": "whsec_…"},
    "Delivery": {
        "id": "01a1fbb2-2855-72ee-8e77-c161c4205e89",
        "event": "link.clicked",
        "status": "pending",
        "attempts": 2,
        "next_attempt_at": "2026-11-20T02:57:56.204113Z",
        "response_status": 503,
        "error": "answered 503",
        **_CREATED,
    },
    "ListedApiKey": {**_API_KEY, "revoked_at": None},
    "Me": {
        "id": "01a1fbb1-f3a2-7d4f-b0c9-8e7f6a5b4c3d",
        "name": "Ada Lovelace",
        "email": "ada@example.com",
        **_CREATED,
        "plan": {"type": "lifetime", "status": None, "active": True, "trial_ends_at": None, "renews_at": None},
        "token": _API_KEY,
        "limits": {"requests_per_minute": 60},
        "shared_domain": "go.example.com",
    },
}

ANSWERS: dict[str, dict[str, Any]] = {
    "CreatedRows": {
        "data": [
            {"index": 0, "status": "created", "link": EXAMPLES["Link"]},
            {"index": 1, "status": "invalid", "errors": {"destination_url": ["This field is required."]}},
        ],
        "meta": {"created": 1, "invalid": 1},
    },
    "ChangedRows": {
        "data": [{"id": _LINK, "status": "updated"}],
        "meta": {"updated": 1, "unchanged": 0, "not_found": 0, "invalid": 0},
    },
    "DeletedRows": {"data": [{"id": _LINK, "status": "deleted"}], "meta": {"deleted": 1, "not_found": 0}},
}
"""Responses that contain other things than objects of the API."""


def example(schema: str, path: str) -> dict[str, Any]:
    """Return an example of the response with a schema such as `Data_Link_` to a request of `path`."""
    if answer := ANSWERS.get(schema):
        return answer
    kind, _, name = schema.strip("_").partition("_")
    if kind == "Paginated":
        url = f"{BASE_URL}{path}".replace("{id}", _LINK)
        links = {"first": f"{url}?page=1", "last": f"{url}?page=1", "prev": None, "next": None}
        meta = {"from": 1, "current_page": 1, "last_page": 1, "path": url, "per_page": 15, "to": 1, "total": 1}
        return {"data": [EXAMPLES[name]], "links": links, "meta": meta}
    if name.startswith("list_"):
        return {"data": [EXAMPLES[name.removeprefix("list_")]]}
    return {"data": EXAMPLES[name]}
