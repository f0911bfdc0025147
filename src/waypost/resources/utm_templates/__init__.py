"""Campaign templates: UTM parameters with a name, which fill the form of a link."""

from waypost.resources.utm_templates.model import UtmTemplate
from waypost.resources.utm_templates.service import NO_TEMPLATE, find_all
