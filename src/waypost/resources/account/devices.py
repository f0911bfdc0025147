"""What to call a browser in the list of sessions: enough to know one's own by."""

_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
"""The first sign that is there counts: browsers name those they descend from, too."""


def called(user_agent: str) -> str:
    browser = next((name for sign, name in _BROWSERS if sign in user_agent), "Another browser")
    system = next((name for sign, name in _SYSTEMS if sign in user_agent), None)
    return f"{browser} on {system}" if system else browser
