"""How often Python looks for objects that hold each other in circles: a worker makes many objects and few circles."""

import gc


def look_seldom() -> None:
    """To be called once all is imported. Looking took a seventh of the time of draining clicks."""
    gc.collect()
    gc.freeze()  # what has been imported stays
    gc.set_threshold(50_000, 20, 20)
