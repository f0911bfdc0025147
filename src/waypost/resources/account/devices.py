"""Names a browser in the list of sessions, so that people recognize their own."""

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
"""The first that matches counts: browsers also name those they descend from."""


def device_name(user_agent: str) -> str:
    browser = next((name for token, name in _BROWSERS if token in user_agent), "Another browser")
    system = next((name for token, name in _SYSTEMS if token in user_agent), None)
    return f"{browser} on {system}" if system else browser
