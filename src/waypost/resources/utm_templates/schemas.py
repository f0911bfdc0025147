"""Request and response fields of campaign templates."""

from typing import Annotated, ClassVar

from typing_extensions import TypedDict

from waypost.kit.docs import doc, doc_as, field
from waypost.kit.fields import NOT_BLANK, Body, IdText, TimestampText
from waypost.kit.json_object import json_object
from waypost.kit.utm import ShortText, UtmParams, UtmParamsJson, in_order
from waypost.resources.utm_templates.model import UtmTemplate


class UtmTemplateFields(Body):
    name: Annotated[ShortText, NOT_BLANK] | None = field("Name, unique in the account", "Newsletter")
    utm_params: UtmParams | None = field("UTM parameters, at least one")


class NewUtmTemplate(UtmTemplateFields):
    REQUIRED = ("name", "utm_params")
    EXAMPLE: ClassVar = {"name": "Newsletter", "utm_params": {"utm_source": "newsletter", "utm_medium": "email"}}


class UtmTemplateChange(UtmTemplateFields):
    """Changes the fields that were sent; the parameters are replaced together."""

    NOT_NULL = ("name", "utm_params")
    EXAMPLE: ClassVar = {"name": "Weekly newsletter"}


class UtmTemplateJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-6d1a-7b52-8a0c-5f7d1e0b3c44")]
    name: Annotated[str, doc("Name", "Newsletter")]
    utm_params: Annotated[
        UtmParamsJson, doc_as(UtmTemplateFields, "utm_params", {"utm_medium": "email", "utm_source": "newsletter"})
    ]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]
    updated_at: Annotated[TimestampText, doc("Time of the last change", "2026-11-20T02:56:16.123456Z")]


def to_json(template: UtmTemplate) -> UtmTemplateJson:
    return json_object(UtmTemplateJson, template, utm_params=in_order(template.utm_params))
