"""JSON endpoints of campaign templates."""

from uuid import UUID

from waypost.accounts import Caller
from waypost.context import Context
from waypost.kit.errors import Problems
from waypost.kit.pagination import Page, PageRequest
from waypost.kit.versions import Version
from waypost.resources.utm_templates import service
from waypost.resources.utm_templates.model import UtmTemplate
from waypost.resources.utm_templates.schemas import NewUtmTemplate, UtmTemplateChange, UtmTemplateJson, to_json
from waypost.web import PAGING, Data, Endpoint, Paginated, Representation

_TAG = "utm-templates"
_PATH = f"/{_TAG}"
_ONE = f"{_PATH}/{{id}}"


async def list_(context: Context, caller: Caller, page: PageRequest) -> Page[UtmTemplateJson]:
    """By name."""
    return (await service.list_templates(context, caller, page)).map(to_json)


async def create(context: Context, caller: Caller, new: NewUtmTemplate, problems: Problems) -> UtmTemplateJson:
    """A template fills the UTM parameters of a link in the dashboard. Links do not change with it."""
    return to_json(await service.create(context, caller, new, problems))


async def get(context: Context, caller: Caller, template_id: UUID) -> UtmTemplate:
    """Its parameters are those with a value."""
    return await service.get(context, caller, template_id)


async def update(
    context: Context, caller: Caller, template_id: UUID, change: UtmTemplateChange, problems: Problems
) -> UtmTemplate:
    """Changes the fields that you send and keeps the others. Links that it filled stay as they are."""
    return await service.change(context, caller, template_id, change, problems)


async def delete(context: Context, caller: Caller, template_id: UUID) -> None:
    """Links that it filled stay as they are."""
    await service.delete(context, caller, template_id)


_SHOWN = Representation(
    lambda template, *_: to_json(template),
    Version(lambda template: (template.name, sorted(template.utm_params.items()), template.updated_at)),
)
ENDPOINTS = [
    Endpoint(
        "GET",
        _PATH,
        list_,
        "List campaign templates",
        "links:read",
        Paginated[UtmTemplateJson],
        parameters=PAGING,
        name="templates_list",
        tag=_TAG,
    ),
    Endpoint(
        "POST",
        _PATH,
        create,
        "Create a campaign template",
        "links:write",
        Data[UtmTemplateJson],
        201,
        body=NewUtmTemplate,
        name="templates_create",
        tag=_TAG,
    ),
    Endpoint(
        "GET",
        _ONE,
        get,
        "Get a campaign template",
        "links:read",
        Data[UtmTemplateJson],
        shows=_SHOWN,
        name="templates_get",
        tag=_TAG,
    ),
    Endpoint(
        "PATCH",
        _ONE,
        update,
        "Change a campaign template",
        "links:write",
        Data[UtmTemplateJson],
        body=UtmTemplateChange,
        shows=_SHOWN,
        name="templates_update",
        tag=_TAG,
    ),
    Endpoint(
        "DELETE",
        _ONE,
        delete,
        "Delete a campaign template",
        "links:write",
        status=204,
        shows=_SHOWN,
        name="templates_delete",
        tag=_TAG,
    ),
]
