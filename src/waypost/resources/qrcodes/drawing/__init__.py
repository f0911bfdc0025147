"""Draws the image of a text in a style. It takes milliseconds, so never call it in the event loop."""

from waypost.resources.qrcodes.drawing.logo_image import LogoImage
from waypost.resources.qrcodes.drawing.matrix import make_matrix
from waypost.resources.qrcodes.drawing.pdf import pdf
from waypost.resources.qrcodes.drawing.png import png
from waypost.resources.qrcodes.drawing.svg import svg
from waypost.resources.qrcodes.layout import TooLong
