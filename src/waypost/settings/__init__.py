"""All settings, read once from the environment and `waypost.toml`, then passed as arguments.

Commands use `commands.settings_check`, the processes of `serve` use `load`.
"""

from waypost.kit.errors import SettingsError
from waypost.settings.model import PREFIX, SECRETS, Settings
from waypost.settings.reading import CONFIG_FILE, SettingProblem, load, read, refuse

__all__ = [
    "CONFIG_FILE",
    "PREFIX",
    "SECRETS",
    "SettingProblem",
    "Settings",
    "SettingsError",
    "load",
    "read",
    "refuse",
]
