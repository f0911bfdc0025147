"""Draws the image of a text in a style. Pure. Takes milliseconds, so never call it in the event loop."""

from waypost.resources.qrcodes.drawing.matrix import TooLong, matrix_of
from waypost.resources.qrcodes.drawing.png import png
from waypost.resources.qrcodes.drawing.svg import svg

__all__ = ["TooLong", "matrix_of", "png", "svg"]
