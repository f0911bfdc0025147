"""SQLAlchemy's statements as SQL of a database, compiled once, with what converts their parameters and columns."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

from sqlalchemy import Dialect, Executable, FromClause
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.engine import make_url
from sqlalchemy.sql.compiler import Compiled, SQLCompiler
from sqlalchemy.sql.selectable import TextualSelect

from waypost.database.rows import Result, row_type

_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
_MAX_KEPT = 2_000

Binds = Mapping[str, Any]
"""Parameters by name."""
Parameters = Binds | Sequence[Binds]
"""A sequence executes the statement for each."""
Convert = Callable[[Any], Any]
BindPlan = Sequence[tuple[str | None, Convert | None, Any]]
"""For each parameter its key and what converts it, or without a key, the constant of the statement."""


class _SqliteCompiler(SQLiteCompiler):
    """Renders `with_hint` of a table as well: `INDEXED BY`, where SQLite would choose a worse index."""

    def get_from_hint_text(self, table: FromClause, text: str | None) -> str | None:  # noqa: ARG002  # SQLAlchemy's own
        return text


class CompiledStatement:
    """A statement compiled for a dialect."""

    def __init__(self, statement: Executable, compiled: Compiled, dialect: Dialect) -> None:
        self._compiled = cast("SQLCompiler", compiled)
        self._dialect = dialect
        self._sql = str(compiled)
        self._columns = list(getattr(statement, "exported_columns", ()))
        self._is_by_name = isinstance(statement, TextualSelect) and not statement.positional
        self._make_row: Any = None
        self._column_converters: list[tuple[int, Convert]] = []
        self._converters: dict[str, Convert] = {}
        self._is_expanding = False
        for name, bind in self._compiled.binds.items():
            if bind.expanding or bind.literal_execute:
                self._is_expanding = True
            elif convert := bind.type.dialect_impl(dialect).bind_processor(dialect):
                self._converters[name] = convert
        self._names: Sequence[str] | None = self._compiled.positiontup

    def plan(self, values: Binds, built_with: Any) -> BindPlan | None:
        """Return how to bind values of these names. None: the SQL depends on the values."""
        if self._is_expanding:
            return None
        constants = self._compiled.construct_params(values, extracted_parameters=built_with, escape_names=False)
        plan: list[tuple[str | None, Convert | None, Any]] = []
        for name in constants if self._names is None else self._names:
            key, convert, constant = self._compiled.binds[name].key, self._converters.get(name), constants[name]
            is_given = key in values
            plan.append((key, convert, None) if is_given else (None, None, convert(constant) if convert else constant))
        return plan

    def bind(self, values: Binds, built_with: Any, plan: BindPlan | None) -> tuple[str, tuple[Any, ...] | Binds]:
        """Return the SQL and the parameters for the driver."""
        sql, names, converters = self._sql, self._names, self._converters
        if plan is not None:
            bound = [
                constant if key is None else convert(values[key]) if convert else values[key]
                for key, convert, constant in plan
            ]
            return sql, dict(zip(self._compiled.bind_names.values(), bound, strict=True)) if names is None else tuple(
                bound
            )
        named: Binds = self._compiled.construct_params(values, extracted_parameters=built_with, escape_names=False)
        if self._is_expanding:  # a list, as of IN
            expanded = self._compiled.construct_expanded_state(named, escape_names=False)
            sql, named, names = expanded.statement, expanded.parameters, expanded.positiontup
            converters = {**converters, **expanded.processors}
        order = named if names is None else names
        bound = [convert(named[name]) if (convert := converters.get(name)) else named[name] for name in order]
        return sql, dict(zip(named, bound, strict=True)) if names is None else tuple(bound)

    def result(self, cursor: Any, rows: Sequence[Sequence[Any]]) -> "Result[*tuple[Any, ...]]":
        if not rows:
            return Result([], cursor.rowcount)
        if self._make_row is None:
            self._describe(cursor.description)
        if self._column_converters:
            rows = converted = list(map(list, rows))
            for index, convert in self._column_converters:
                for row in converted:
                    row[index] = convert(row[index])
        return Result(list(map(self._make_row, rows)), cursor.rowcount)

    def _describe(self, description: Sequence[Sequence[Any]]) -> None:
        names = tuple(column[0] for column in description)
        for number, column in enumerate(self._columns):
            index = names.index(column.name) if self._is_by_name else number
            impl = column.type.dialect_impl(self._dialect)
            if convert := impl.result_processor(self._dialect, description[index][1]):
                self._column_converters.append((index, convert))
        self._make_row = row_type(names)


class Statements:
    """The compiled statements of a dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._by_structure: dict[Any, CompiledStatement] = {}
        self._by_identity: WeakKeyDictionary[Executable, tuple[Any, ...]] = WeakKeyDictionary()
        """The names of its parameters, and what `find` returns."""

    def find(
        self, statement: Executable, values: Binds, *, is_many: bool
    ) -> tuple[CompiledStatement, Any, BindPlan | None]:
        """Return the compiled statement, the parameters that it was built with, and for repeated use the plan."""
        shape = (is_many, *values)
        if (known := self._by_identity.get(statement)) and known[0] == shape:
            _, compiled, built_with, plan = known
            if plan is None and (plan := compiled.plan(values, built_with)) is not None:
                self._by_identity[statement] = shape, compiled, built_with, plan
            return compiled, built_with, plan
        element: Any = statement
        key = element._generate_cache_key()  # noqa: SLF001  # nothing public makes a CacheKey but SQLAlchemy's own connections
        compiled = self._by_structure.get((key.key, shape)) if key else None
        if compiled is None:
            options = {"cache_key": key, "column_keys": list(values), "for_executemany": is_many}
            compiled = CompiledStatement(statement, element.compile(dialect=self.dialect, **options), self.dialect)
            if key is None:
                return compiled, None, None
            if len(self._by_structure) >= _MAX_KEPT:
                self._by_structure.clear()
                self._by_identity.clear()
            self._by_structure[key.key, shape] = compiled
        found = compiled, key.bindparams, compiled.plan(values, key.bindparams) if is_many else None
        self._by_identity[statement] = shape, *found
        return found


@functools.cache
def statements_for(dialect: str) -> Statements:
    class_: Any = make_url(f"{_DRIVERS[dialect]}://").get_dialect()
    new: Dialect = class_(dbapi=class_.import_dbapi())
    if dialect == "sqlite":
        new.statement_compiler = _SqliteCompiler
    return Statements(new)
