"""What the demo account has: links, domains, pixels and webhooks of an invented outdoor shop. Pure data.

None of it causes a request: hostnames end with `.example`, which is reserved and never resolves, and webhooks have IP
addresses for documentation, to which the service does not connect.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from waypost.resources.pixels.model import Platform
from waypost.resources.webhooks.model import EventType

Curve = Literal["steady", "campaign", "newsletter", "event"]
"""Visits over the days. steady: grows slowly; campaign: a peak, a reminder, then less; newsletter: a few days; event:
grows until its day."""
Channel = Literal["social", "mail", "search", "video", "print", "partner"]
"""How people get the link: decides their referrers, devices, countries and hours."""

UTM: Mapping[Channel, tuple[str, str]] = {
    "social": ("instagram", "social"),
    "mail": ("newsletter", "email"),
    "search": ("google", "cpc"),
    "video": ("youtube", "video"),
    "print": ("poster", "print"),
    "partner": ("partner", "referral"),
}
"""`utm_source` and `utm_medium`."""

DAYS = 90
SITE = "https://example.com"
"""Destinations. The site exists, so that the person who follows a link gets a page."""
CAMPAIGNS, TRAILS, PENDING = "go.larkspur.example", "trail.larkspur.example", "shop.larkspur.example"
HOSTNAMES = (CAMPAIGNS, TRAILS, PENDING)

PIXELS: Mapping[str, tuple[Platform, str]] = {
    "Shop visitors": ("facebook", "000000000000000"),
    "Short videos": ("tiktok", "C0000000000000000000"),
    "Remarketing": ("google_ads", "AW-000000000"),
}
"""Platform and its id, by our name. No platform has these ids."""


@dataclass(frozen=True, slots=True)
class PlannedWebhook:
    url: str
    event_types: Sequence[EventType]
    is_failing: bool = False


WEBHOOKS = (
    PlannedWebhook("https://192.0.2.10/hooks/crm", ["link.created", "link.clicked"]),
    PlannedWebhook("https://198.51.100.20/audiences", ["pixel.fired"]),
    PlannedWebhook("https://203.0.113.30/old-warehouse", ["link.created"], is_failing=True),
)


@dataclass(frozen=True, slots=True)
class PlannedLink:
    slug: str
    title: str
    path: str
    """Of the destination."""
    age: int
    """Days since its creation."""
    visits: int
    """Of people in the whole period; days and noise change it a little."""
    curve: Curve = "steady"
    channel: Channel = "search"
    hostname: str | None = None
    tags: Sequence[str] = ()
    campaign: str = ""
    """`utm_campaign`; empty without UTM parameters."""
    expires: int | None = None
    """Days after its creation; None if it does not expire."""
    is_disabled: bool = False
    pixels: Sequence[str] = ()
    description: str = ""
    """Of its preview; empty without one."""
    colors: tuple[str, str] | None = None
    """Of the preview's image, from top to bottom."""
    style: Mapping[str, Any] = field(default_factory=dict)
    """Of its QR code; empty for the default."""
    scans: float = 0.0
    """Share of visits that scan the QR code."""


_GREEN, _BLUE, _SUNSET, _STONE = (
    ("#14532d", "#84cc16"),
    ("#0c4a6e", "#7dd3fc"),
    ("#7c2d12", "#fdba74"),
    ("#292524", "#d6d3d1"),
)
_DOTS = {"foreground": "#14532d", "style": "dots", "level": "Q"}
_FLUID = {"foreground": "#1d4ed8", "background": "#eff6ff", "style": "fluid", "level": "H"}
_PRINTED = {"level": "H", "size": 1024}

LINKS: tuple[PlannedLink, ...] = (
    # shop
    PlannedLink("shop", "Larkspur Outdoor", "/", 118, 2600, tags=["evergreen"], style=_DOTS, scans=0.03,
                description="Tents, boots and packs for people who would rather be outside.", colors=_GREEN),
    PlannedLink("size-guide", "Boot size guide", "/guides/boot-sizes", 110, 930, tags=["evergreen", "support"]),
    PlannedLink("returns", "Returns and repairs", "/support/returns", 109, 710, tags=["evergreen", "support"]),
    PlannedLink("track", "Track an order", "/support/orders", 108, 1180, channel="mail", tags=["support"]),
    PlannedLink("gift-card", "Gift cards", "/gift-cards", 101, 380, tags=["evergreen"], channel="mail"),
    PlannedLink("care", "Wash and proof a rain jacket", "/guides/jacket-care", 97, 510, tags=["support"], scans=0.55,
                channel="print", style=_PRINTED),
    PlannedLink("tent-manual", "Manual: Alder 2 tent", "/manuals/alder-2", 95, 600, tags=["support", "print"],
                channel="print", style=_PRINTED, scans=0.85),
    PlannedLink("stove-manual", "Manual: Ember stove", "/manuals/ember", 93, 330, tags=["support", "print"],
                channel="print", style=_PRINTED, scans=0.88),
    PlannedLink("jobs", "Work with us", "/jobs", 92, 250, tags=["team"], channel="partner"),
    PlannedLink("stories", "Stories from outside", "/stories", 104, 730, channel="social", tags=["content"]),
    PlannedLink("packing-list", "Packing list for a weekend", "/guides/packing-list", 76, 880, channel="search",
                tags=["content", "evergreen"]),
    PlannedLink("press", "Press kit", "/press", 91, 120, tags=["team"], channel="partner"),
    # campaigns
    PlannedLink("autumn", "Autumn sale", "/sale/autumn", 64, 3220, "campaign", "social", CAMPAIGNS, ["sale", "autumn"],
                "autumn-sale", expires=40, pixels=["Shop visitors", "Remarketing"], style=_DOTS, scans=0.05,
                description="Up to 40 % off last season's jackets, boots and tents.", colors=_SUNSET),
    PlannedLink("autumn-mail", "Autumn sale, newsletter", "/sale/autumn", 63, 1430, "newsletter", "mail", CAMPAIGNS,
                ["sale", "autumn", "newsletter"], "autumn-sale", expires=39),
    PlannedLink("autumn-video", "Autumn sale, short video", "/sale/autumn", 61, 1050, "campaign", "video", CAMPAIGNS,
                ["sale", "autumn"], "autumn-sale", expires=37, pixels=["Short videos"]),
    PlannedLink("winter", "Winter collection", "/collections/winter", 26, 3040, "campaign", "social", CAMPAIGNS,
                ["winter", "launch"], "winter-launch", pixels=["Shop visitors", "Short videos"], colors=_BLUE,
                description="Warm layers for cold mornings: 42 new pieces, made from recycled wool.", style=_FLUID,
                scans=0.03),
    PlannedLink("winter-mail", "Winter collection, newsletter", "/collections/winter", 25, 1610, "newsletter", "mail",
                CAMPAIGNS, ["winter", "newsletter"], "winter-launch"),
    PlannedLink("winter-ads", "Winter collection, search ads", "/collections/winter", 24, 1300, "campaign", "search",
                CAMPAIGNS, ["winter", "ads"], "winter-launch", pixels=["Remarketing"]),
    PlannedLink("winter-film", "Winter film: Forty below", "/films/forty-below", 18, 1920, "campaign", "video",
                CAMPAIGNS, ["winter", "video"], "winter-film", colors=_STONE, pixels=["Short videos"],
                description="Two friends, one tent, minus forty degrees. A film of eleven minutes."),
    PlannedLink("early-access", "Early access for members", "/members/early-access", 12, 840, "newsletter", "mail",
                CAMPAIGNS, ["members"], "early-access", expires=20),
    PlannedLink("free-shipping", "Free shipping weekend", "/sale/free-shipping", 5, 780, "campaign", "social",
                CAMPAIGNS, ["sale"], "free-shipping", expires=9, pixels=["Shop visitors"]),
    PlannedLink("spring", "Spring sale", "/sale/spring", 115, 430, "campaign", "social", CAMPAIGNS, ["sale"],
                "spring-sale", expires=30, is_disabled=True),
    PlannedLink("refer", "Refer a friend", "/refer", 84, 780, channel="social", hostname=CAMPAIGNS, tags=["members"]),
    PlannedLink("quiz", "Which tent fits you?", "/quiz/tents", 47, 990, "campaign", "social", CAMPAIGNS, ["content"],
                "tent-quiz", description="Seven questions, one tent.", colors=_GREEN),
    # social profiles and partners
    PlannedLink("bio", "Links in our profile", "/links", 112, 2230, channel="social", tags=["social"]),
    PlannedLink("podcast", "Outside Voices, our podcast", "/podcast", 88, 810, channel="video", tags=["content"]),
    PlannedLink("podcast-31", "Episode 31: Sleeping in snow", "/podcast/31", 9, 480, "newsletter", "video",
                tags=["content"]),
    PlannedLink("podcast-30", "Episode 30: A map without names", "/podcast/30", 23, 520, "newsletter", "video",
                tags=["content"]),
    PlannedLink("podcast-29", "Episode 29: Repairs by headlamp", "/podcast/29", 37, 470, "newsletter", "video",
                tags=["content"]),
    PlannedLink("affiliate-nordweg", "Partner: Nordweg", "/partners/nordweg", 86, 560, channel="partner",
                tags=["partners"], campaign="nordweg"),
    PlannedLink("affiliate-hutkind", "Partner: Hutkind", "/partners/hutkind", 79, 400, channel="partner",
                tags=["partners"], campaign="hutkind"),
    PlannedLink("affiliate-slowmap", "Partner: Slow Map", "/partners/slow-map", 55, 300, channel="partner",
                tags=["partners"], campaign="slow-map"),
    PlannedLink("wholesale", "Wholesale catalog", "/wholesale", 83, 160, channel="partner", tags=["partners"]),
    # newsletters
    *(
        PlannedLink(f"letter-{number}", f"Newsletter {number}: {subject}", f"/letters/{number}", age, visits,
                    "newsletter", "mail", tags=["newsletter"], campaign=f"letter-{number}")
        for number, subject, age, visits in (
            (112, "First frost", 3, 450), (111, "Layers, explained", 10, 610), (110, "Huts that stay open", 17, 640),
            (109, "Night trains", 24, 550), (108, "Mending week", 31, 530), (107, "Mushrooms", 38, 690),
            (106, "Rain is fine", 45, 490), (105, "September light", 52, 560), (104, "Ask us anything", 59, 420),
            (103, "Leaving early", 66, 510), (102, "One pot", 73, 470), (101, "Slow rivers", 80, 430),
        )
    ),
    # trails and stores, printed on maps and posters
    *(
        PlannedLink(slug, title, f"/trails/{slug}", age, visits, "steady", "print", TRAILS, ["trails", "print"],
                    style=_DOTS, scans=0.92)
        for slug, title, age, visits in (
            ("cedar-loop", "Cedar Loop, 12 km", 96, 400), ("mill-creek", "Mill Creek, 8 km", 96, 320),
            ("high-moor", "High Moor, 21 km", 82, 240), ("lake-ring", "Lake Ring, 16 km", 82, 290),
            ("old-railway", "Old Railway, 28 km", 57, 190), ("ridge-walk", "Ridge Walk, 14 km", 40, 170),
        )
    ),
    PlannedLink("store-berlin", "Store in Berlin", "/stores/berlin", 99, 470, channel="print", tags=["stores", "print"],
                style=_PRINTED, scans=0.6),
    PlannedLink("store-zurich", "Store in Zurich", "/stores/zurich", 99, 270, channel="print", tags=["stores", "print"],
                style=_PRINTED, scans=0.6),
    PlannedLink("store-portland", "Store in Portland", "/stores/portland", 71, 320, channel="print",
                tags=["stores", "print"], style=_PRINTED, scans=0.6),
    PlannedLink("window", "Shop window, November", "/stores/window", 20, 240, "steady", "print",
                tags=["stores", "print"], style=_FLUID, scans=0.95),
    PlannedLink("film-night", "Film night in Berlin", "/events/film-night", 30, 400, "event", "social",
                tags=["events"], expires=32, description="Three short films about winter, and soup.", colors=_STONE),
    PlannedLink("repair-cafe", "Repair café", "/events/repair-cafe", 50, 250, "event", "mail", tags=["events"],
                expires=29),
    PlannedLink("trade-fair", "Meet us at the trade fair", "/events/trade-fair", 70, 330, "event", "partner",
                tags=["events", "partners"], expires=30, style=_FLUID, scans=0.4),
    PlannedLink("climbing-day", "Climbing day for beginners", "/events/climbing-day", 14, 200, "event", "social",
                tags=["events"], expires=25),
    PlannedLink("draft-sale", "Black week, draft", "/sale/black-week", 21, 0, tags=["sale"], campaign="black-week"),
)  # fmt: skip
