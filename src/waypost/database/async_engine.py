"""SQLAlchemy's asynchronous engine without its ORM, which nothing here uses and which takes 6 MB in each process."""

import sys
from importlib.util import find_spec, module_from_spec

if (_package := find_spec("sqlalchemy.ext.asyncio")) and _package.name not in sys.modules:
    sys.modules[_package.name] = module_from_spec(_package)  # its __init__, which imports the ORM, is not executed

from sqlalchemy.ext.asyncio.engine import AsyncConnection, AsyncEngine, create_async_engine

__all__ = ["AsyncConnection", "AsyncEngine", "create_async_engine"]
