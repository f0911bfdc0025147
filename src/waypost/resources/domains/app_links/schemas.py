"""Request and response bodies of app links."""

from typing import Annotated, Any, ClassVar

from typing_extensions import TypedDict

from waypost.kit.docs import doc_as, field
from waypost.kit.fields import Body
from waypost.resources.domains.app_links.documents import load
from waypost.resources.domains.app_links.model import AppLinksTexts

APPLE_EXAMPLE: dict[str, Any] = {
    "applinks": {"details": [{"appIDs": ["ABCDE12345.com.example.app"], "components": [{"/": "/*"}]}]}
}
GOOGLE_EXAMPLE: list[Any] = [
    {
        "relation": ["delegate_permission/common.handle_all_urls"],
        "target": {
            "namespace": "android_app",
            "package_name": "com.example.app",
            "sha256_cert_fingerprints": [":".join(f"{number:02X}" for number in range(0x10, 0x30))],
        },
    }
]


class AppLinksFields(Body):
    """Replaces both documents; null means the same as leaving a field out."""

    EXAMPLE: ClassVar = {"apple_app_site_association": APPLE_EXAMPLE, "assetlinks": GOOGLE_EXAMPLE}

    apple_app_site_association: dict[str, Any] | None = field(
        "Document for iOS and macOS, at most 128 KiB; null if there is none"
    )
    assetlinks: list[Any] | None = field(
        "Document for Android: a list of statements, at most 128 KiB; null if there is none"
    )


class AppLinksJson(TypedDict):
    apple_app_site_association: Annotated[
        dict[str, Any] | None, doc_as(AppLinksFields, "apple_app_site_association", APPLE_EXAMPLE)
    ]
    assetlinks: Annotated[
        list[Any] | None,
        doc_as(
            AppLinksFields,
            "assetlinks",
            None,
            [{"relation": ["delegate_permission/common.handle_all_urls"], "target": {"namespace": "web"}}],
        ),
    ]


def to_json(texts: AppLinksTexts) -> AppLinksJson:
    return {
        "apple_app_site_association": load(texts.apple_app_site_association),
        "assetlinks": load(texts.assetlinks),
    }
