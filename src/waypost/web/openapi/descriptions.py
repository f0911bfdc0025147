"""Descriptions in the OpenAPI document of lists of values, and of parameters in paths."""

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
    "ImageFormat": "Format of an image",
    "LinkStatus": "`inactive`: disabled, expired, before its start or after its click limit",
    "ModuleStyle": "Shape of the modules of a QR code",
    "PixelPlatform": "Advertising platform",
    "PlanType": "Type of a plan",
    "Scope": "What an API key may do",
    "StatsInterval": "Length of an entry of a series",
    "TlsStatus": "Status of a certificate",
}

FORMAT = "png or svg"
IDS = {"alias_id": ("alias", "Alias"), "delivery_id": ("delivery", "Delivery")}
RESOURCES = {
    "links": ("link", "Link"),
    "qrcodes": ("QR code", "QrCode"),
    "domains": ("domain", "Domain"),
    "pixels": ("pixel", "Pixel"),
    "webhooks": ("webhook", "Webhook"),
}
"""Name and schema of what `{id}` is, by first segment of the path."""
