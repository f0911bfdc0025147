"""Campaign templates: UTM parameters with a name, which fill the form of a link."""

from waypost.resources.utm_templates.model import UtmTemplate
from waypost.resources.utm_templates.service import find_all

__all__ = ["UtmTemplate", "find_all"]
