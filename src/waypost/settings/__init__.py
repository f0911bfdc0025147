"""Every setting, read once from the environment and `waypost.toml`, then handed down as arguments.

Commands read them through `commands.checking`, the processes of `serve` use `load`.
"""

from waypost.kit.errors import SettingsError
from waypost.settings.model import PREFIX, Settings
from waypost.settings.reading import CONFIG_FILE, SettingFault, load, read, refuse

__all__ = ["CONFIG_FILE", "PREFIX", "SettingFault", "Settings", "SettingsError", "load", "read", "refuse"]
