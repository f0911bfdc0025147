"""Memory of the process."""

import contextlib
import ctypes


def release_free_memory() -> None:
    """Return free memory to the system, some megabytes after all imports: the C library (glibc) keeps it otherwise."""
    with contextlib.suppress(AttributeError, OSError):  # another C library, or none to load
        ctypes.CDLL(None).malloc_trim(0)
