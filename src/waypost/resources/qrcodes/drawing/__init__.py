"""Draws codes: a text and a look become a picture. Pure; takes milliseconds, so never in the event loop."""

from waypost.resources.qrcodes.drawing.matrix import TooLong, matrix_of
from waypost.resources.qrcodes.drawing.png import png
from waypost.resources.qrcodes.drawing.svg import svg

__all__ = ["TooLong", "matrix_of", "png", "svg"]
