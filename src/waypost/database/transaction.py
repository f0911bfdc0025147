"""An open transaction: executes SQLAlchemy's statements on a connection of the driver."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Never, Protocol, TypeVar, TypeVarTuple, overload

from sqlalchemy import Executable
from sqlalchemy.sql.selectable import TypedReturnsRows

from waypost.database.rows import Executed, Fetched, NamedRow, Result, row_type
from waypost.database.statements import Parameters, Statements

_T = TypeVar("_T")
_Columns = TypeVarTuple("_Columns")
_SAVEPOINT = "within"


class Connection(Protocol):
    @property
    def driver_connection(self) -> Any: ...

    async def execute(self, sql: str, parameters: Any = None) -> Executed:
        """`parameters`: a tuple or a mapping; a list executes it for each; None does not prepare it.

        Raises IntegrityError of SQLAlchemy.
        """


class PooledConnection(Connection, Protocol):
    @property
    def is_usable(self) -> bool: ...

    async def open(self) -> None: ...

    def reading(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Execute the block in a read-only transaction with one snapshot."""

    def writing(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Commit at the end of the block, roll back on an exception."""

    async def close(self) -> None: ...


class Tx:
    """An open transaction, from `read()` or `write()`. Its user neither commits nor rolls back."""

    def __init__(self, statements: Statements, connection: Connection) -> None:
        self.dialect = statements.dialect
        self.connection = connection
        self._statements = statements
        self.after_commit: list[Callable[[], None]] = []

    @overload
    async def execute(
        self, statement: TypedReturnsRows[*_Columns], parameters: Parameters | None = None
    ) -> Result[*_Columns]: ...

    @overload
    async def execute(
        self, statement: Executable, parameters: Parameters | None = None
    ) -> Result[*tuple[Any, ...]]: ...

    async def execute(self, statement: Executable, parameters: Parameters | None = None) -> Result[*tuple[Any, ...]]:
        each = parameters if isinstance(parameters, Sequence) else [parameters or {}]
        values = each[0] if each else {}
        compiled, *how = self._statements.find(statement, values, is_many=len(each) > 1)
        sql, bound = compiled.bind(values, *how)
        many = [bound, *(compiled.bind(values, *how)[1] for values in each[1:])] if len(each) > 1 else bound
        return compiled.result(*await self.connection.execute(sql, many))

    async def exec_driver_sql(self, sql: str, parameters: Any = ()) -> Result[*tuple[Any, ...]]:
        """Execute SQL with the driver's kind of parameters, whose rows are not converted."""
        cursor, rows = await self.connection.execute(sql, parameters)
        type_: type[NamedRow[*tuple[Any, ...]]] = row_type(tuple(each[0] for each in cursor.description or ()))
        return Result(list(map(type_, rows)), cursor.rowcount)

    async def find(
        self, make: Callable[..., _T], statement: Executable, parameters: Parameters | None = None
    ) -> _T | None:
        """Return what `make` makes of the columns of the row; None if there is none."""
        row = (await self.execute(statement, parameters)).one_or_none()
        return None if row is None else make(*row)

    @overload
    async def scalar(self, statement: TypedReturnsRows[Never], parameters: Parameters | None = None) -> Any | None: ...

    @overload
    async def scalar(self, statement: TypedReturnsRows[_T], parameters: Parameters | None = None) -> _T | None: ...

    @overload
    async def scalar(self, statement: Executable, parameters: Parameters | None = None) -> Any | None: ...

    async def scalar(self, statement: Executable, parameters: Parameters | None = None) -> Any:
        """Return the first column of the first row, or None."""
        return (await self.execute(statement, parameters)).scalars().first()

    @overload
    async def scalars(self, statement: TypedReturnsRows[_T], parameters: Parameters | None = None) -> Fetched[_T]: ...

    @overload
    async def scalars(self, statement: Executable, parameters: Parameters | None = None) -> Fetched[Any]: ...

    async def scalars(self, statement: Executable, parameters: Parameters | None = None) -> Fetched[Any]:
        return (await self.execute(statement, parameters)).scalars()

    @contextlib.asynccontextmanager
    async def begin_nested(self) -> AsyncIterator[None]:
        """Roll back what the block has changed, and nothing else, on an exception."""
        await self.connection.execute(f"SAVEPOINT {_SAVEPOINT}")
        try:
            yield
        except BaseException:
            await self.connection.execute(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")
            await self.connection.execute(f"RELEASE SAVEPOINT {_SAVEPOINT}")  # an outer one has the same name
            raise
        await self.connection.execute(f"RELEASE SAVEPOINT {_SAVEPOINT}")
