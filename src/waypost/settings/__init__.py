"""All settings, read once from the environment and `waypost.toml`, then passed as arguments.

Commands use `commands.settings_check`, the processes of `serve` use `load`.
"""

from waypost.kit.errors import SettingsError
from waypost.settings.model import PREFIX, SECRETS, Settings
from waypost.settings.reading import SettingProblem, load, read, read_for_command, refuse
from waypost.settings.running import running_file, running_text
