"""Descriptions in the OpenAPI document: of lists of values, parameters in paths, and groups of endpoints."""

from typing import NamedTuple

ENUMS = {
    "BulkCreateStatus": "What became of an entry: `retry` means that it did not get its turn, and should be sent again",
    "BulkDeleteStatus": "What became of an id",
    "BulkUpdateStatus": "What became of an id",
    "ClickKind": "What made a visit: a person, a crawler, a link preview or the prefetch of a browser",
    "ClickKindFilter": "A kind of visit, or all of them",
    "ConditionOperator": "Whether the visitor must be in the list, or not",
    "ConditionType": "What a condition compares",
    "DeliveryEventType": "Type of the event of a delivery; `webhook.test` is sent on request only",
    "DeliveryStatus": "Status of a delivery",
    "Device": "Type of device",
    "DnsRecordType": "Type of a DNS record",
    "DomainStatus": "Status of the verification of a domain",
    "ErrorCode": "Code of an error, for programs; `http_error` is every error without a code of its own",
    "ErrorCorrection": "How much of a code may be damaged: L 7 %, M 15 %, Q 25 %, H 30 %",
    "EventType": "Type of an event that a webhook can subscribe to",
    "FrameStyle": "Frame around a QR code",
    "HealthStatus": "`broken`: 404, 410, no such host or an invalid certificate on three days; `uncertain`: it failed"
    " otherwise, or not on three days yet; `unchecked`: not visited yet",
    "ImageFormat": "Format of an image",
    "LabelCaption": "Text of a label",
    "LabelSheet": "Sheet of labels of Avery",
    "LinkStatus": "`inactive`: disabled, expired, before its start or after its click limit",
    "ModuleStyle": "Shape of the modules of a QR code",
    "PixelPlatform": "Advertising platform",
    "PlanType": "Type of a plan",
    "Scope": "What an API key may do",
    "SlugAlphabet": "Characters of generated slugs",
    "StatsComparison": "The earlier time range: just before, or a year earlier",
    "StatsInterval": "Length of an entry of a series",
    "TagColor": "Color of a tag in the dashboard",
    "TlsStatus": "Status of a certificate",
}

IDS = {"alias_id": ("alias", "Alias"), "delivery_id": ("delivery", "Delivery")}


class EndpointGroup(NamedTuple):
    """Endpoints whose paths begin with the same segment."""

    title: str
    about: str
    one: str = ""
    """What `{id}` is."""
    model: str = ""
    """Its schema."""


GROUPS = {
    "links": EndpointGroup("Links", "Create short links, find, change, disable and delete them.", "link", "Link"),
    "utm-templates": EndpointGroup(
        "Campaign templates",
        "UTM parameters with a name, which fill those of a link.",
        "campaign template",
        "UtmTemplate",
    ),
    "tags": EndpointGroup("Tags", "Organize links: list, rename, merge, color and delete tags.", "tag", "Tag"),
    "qrcodes": EndpointGroup(
        "QR codes", "Each link has a QR code: set its style, and show its image by a signed URL.", "QR code", "QrCode"
    ),
    "clicks": EndpointGroup("Clicks and statistics", "Individual clicks, and statistics of one link or of all links."),
    "shares": EndpointGroup(
        "Shared statistics",
        "Show statistics to people without an account, by a URL or in your own pages.",
        "share",
        "Share",
    ),
    "domains": EndpointGroup(
        "Domains", "Use your own domains for links: create a domain, set its DNS record, verify it.", "domain", "Domain"
    ),
    "pixels": EndpointGroup(
        "Pixels", "Retargeting pixels, and the results of their server-side events.", "pixel", "Pixel"
    ),
    "webhooks": EndpointGroup(
        "Webhooks", "Notify your own server of events: signed, and retried until it accepts them.", "webhook", "Webhook"
    ),
    "keys": EndpointGroup("API keys", "List the account's keys. Create and revoke keys in the dashboard."),
    "account": EndpointGroup("Account", "The account of the key, its plan and limits, and the key's scopes."),
}
"""By first segment of the path, in the order in which they are shown."""
