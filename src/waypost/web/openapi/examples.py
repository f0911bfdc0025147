"""Examples in the OpenAPI document. Tests compare them with the schemas."""

from typing import Any

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
        "image_url": f"{_QR_IMAGE}/png?v=1-1d3557-ffffff-Q-dots-512-4&signature=4Jx0bq3Yk1s",
        "svg_url": f"{_QR_IMAGE}/svg?v=1-1d3557-ffffff-Q-dots-512-4&signature=4Jx0bq3Yk1s",
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
    "AppLinks": {
        "apple_app_site_association": {
            "applinks": {"details": [{"appIDs": ["ABCDE12345.com.example.app"], "components": [{"/": "/*"}]}]}
        },
        "assetlinks": None,
    },
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

_CREATED_AND_INVALID = [
    {"index": 0, "status": "created", "link": EXAMPLES["Link"]},
    {"index": 1, "status": "invalid", "errors": {"destination_url": ["This field is required."]}},
]
_NOT_IN_EVENTS = {"is_scan", "kind", "bot"}
_PAGE = f"{BASE_URL}/api/v1/links"

EXAMPLES |= {
    "ApiKeyList": {"data": [EXAMPLES["ListedApiKey"]]},
    "BareError": {"message": "The hostname cannot be registered."},
    "BulkCreateResponse": {"data": _CREATED_AND_INVALID, "meta": {"created": 1, "invalid": 1}},
    "BulkDeleteResponse": {"data": [{"id": _LINK, "status": "deleted"}], "meta": {"deleted": 1, "not_found": 0}},
    "BulkUpdateResponse": {
        "data": [{"id": _LINK, "status": "updated"}],
        "meta": {"updated": 1, "unchanged": 0, "not_found": 0, "invalid": 0},
    },
    "ClickEvent": {name: value for name, value in EXAMPLES["Click"].items() if name not in _NOT_IN_EVENTS},
    "ErrorResponse": {
        "error": {"code": "not_found", "message": "The resource does not exist, or you do not have access to it."}
    },
    "PageLinks": {
        "first": f"{_PAGE}?page=1",
        "last": f"{_PAGE}?page=9",
        "prev": f"{_PAGE}?page=1",
        "next": f"{_PAGE}?page=3",
    },
    "PageMeta": {"current_page": 2, "from": 16, "last_page": 9, "path": _PAGE, "per_page": 15, "to": 30, "total": 130},
    "PixelFired": {
        "pixel_id": EXAMPLES["Pixel"]["id"],
        "platform": "facebook",
        "link_id": _LINK,
        "visit_id": EXAMPLES["Click"]["id"],
    },
    "TestEventData": {"webhook_id": EXAMPLES["Webhook"]["id"]},
    "ValidationErrorResponse": {
        "error": {
            "code": "validation_error",
            "message": "The given data was invalid.",
            "errors": {"slug": ["This slug is already taken. Choose another one."]},
        }
    },
}

IDS = {
    "link": _LINK,
    "QR code": EXAMPLES["QrCode"]["id"],
    "domain": EXAMPLES["Domain"]["id"],
    "pixel": EXAMPLES["Pixel"]["id"],
    "webhook": EXAMPLES["Webhook"]["id"],
}
"""By resource, for `{id}` of a path."""

VALUES: dict[str, Any] = {
    "Condition.from": "09:00",
    "Condition.name": "campaign",
    "Condition.to": "17:00",
    "ConditionInput.from": "09:00",
    "ConditionInput.name": "campaign",
    "ConditionInput.to": "17:00",
    "Domain.error": "None of the DNS records was found.",
    "Plan.status": "active",
    "RuleInput.name": "iPhone",
    "Tls.error": "The certificate authority could not reach the domain.",
    "VariantInput.name": "B",
    "access_token": "EAABsbCS1iHgBAKZCZCf2",
    "add_tags": ["sale"],
    "alias_id": EXAMPLES["Alias"]["id"],
    "assetlinks": [{"relation": ["delegate_permission/common.handle_all_urls"], "target": {"namespace": "web"}}],
    "bot": "Googlebot",
    "browser": "Firefox",
    "country": "DE",
    "delivery_id": EXAMPLES["Delivery"]["id"],
    "destination_url": "https://example.com/pricing",
    "expires_at": "2030-01-31T12:00:00.000000Z",
    "from": "2026-11-01T00:00:00Z",
    "hostname": "go.brand.com",
    "link_id": _LINK,
    "margin": 4,
    "not_found_url": "https://brand.com/lost",
    "og_description": "Plans for teams of every size.",
    "og_image": "https://example.com/card.png",
    "og_image_file": "card.png",
    "og_title": "Pricing",
    "page": 2,
    "password": "correct horse",
    "per_page": 50,
    "pixel_id": "1234567890",
    "pixel_ids": [EXAMPLES["Pixel"]["id"]],
    "platform": "Android",
    "referrer": "https://news.example/today",
    "remove_tags": ["draft"],
    "renews_at": "2026-12-20T00:00:00.000000Z",
    "retry": 1,
    "revoked_at": "2026-11-22T08:00:00.000000Z",
    "search": "pricing",
    "signature": "4Jx0bq3Yk1s",
    "size": 512,
    "slug": "spring",
    "starts_at": "2026-12-01T08:00:00.000000Z",
    "tag": "mail",
    "tags": ["mail"],
    "timezone": "Europe/Berlin",
    "title": "Pricing",
    "to": "2026-12-01T00:00:00Z",
    "trial_ends_at": "2026-12-04T00:00:00.000000Z",
    "utm_campaign": "spring",
    "utm_content": "button",
    "utm_medium": "email",
    "utm_source": "newsletter",
    "utm_term": "pricing",
    "v": "1-1d3557-ffffff-Q-dots-512-4",
    "warnings": ["The colors have little contrast."],
    "weekdays": [1, 2, 3, 4, 5],
}
"""Examples of fields and parameters that no object above has, or has without a value."""

_DATA_OF_EVENTS = {
    "link.created": {**EXAMPLES["Link"], "clicks": 0},
    "link.clicked": EXAMPLES["ClickEvent"],
    "pixel.fired": EXAMPLES["PixelFired"],
    "webhook.test": EXAMPLES["TestEventData"],
}


def event_example(event_type: str) -> dict[str, Any]:
    """Return an example of the body that a webhook receives."""
    return {
        "id": "01a1fbb2-9c42-7c11-b0d5-6a7e8f901234",
        "api_version": "v1",
        "event": event_type,
        "created_at": "2026-11-20T02:56:16+00:00",
        "data": _DATA_OF_EVENTS[event_type],
    }


def response_example(schema: str, url: str) -> dict[str, Any]:
    """Return an example of the response with a schema such as `LinkResponse` to a request of `url`."""
    if schema in EXAMPLES:
        return EXAMPLES[schema]
    if schema.endswith("Response"):
        return {"data": EXAMPLES[schema.removesuffix("Response")]}
    url = url.replace("{id}", _LINK)
    links = {"first": f"{url}?page=1", "last": f"{url}?page=1", "prev": None, "next": None}
    meta = {"current_page": 1, "from": 1, "last_page": 1, "path": url, "per_page": 15, "to": 1, "total": 1}
    return {"data": [EXAMPLES[schema.removesuffix("Page")]], "links": links, "meta": meta}
