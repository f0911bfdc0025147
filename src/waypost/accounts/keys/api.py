"""JSON endpoints of the account and its keys. Any valid key may use them."""

from waypost.accounts import ApiCaller, list_keys
from waypost.accounts.keys.schemas import ListedApiKeyJson, MeJson, key_to_json, me_to_json
from waypost.context import Context
from waypost.web import Data, Endpoint


async def get(context: Context, caller: ApiCaller) -> MeJson:
    """Return the account, its plan, and the key of the request."""
    return me_to_json(caller, context.shared_domain, context.clock())


async def list_(context: Context, caller: ApiCaller) -> list[ListedApiKeyJson]:
    """List all keys, newest first, also expired and revoked ones. Their text is never shown again."""
    return [key_to_json(key) for key in await list_keys(context.db, caller.account.id)]


ENDPOINTS = [
    Endpoint("GET", "/me", get, "Get the account", None, Data[MeJson], name="account_get"),
    Endpoint("GET", "/tokens", list_, "List API keys", None, Data[list[ListedApiKeyJson]], name="keys_list"),
]
