"""The small values that the formats are made of: names, types, durations and windows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, StringConstraints
from pydantic_core import CoreSchema, core_schema

from palmette.errors import nearest

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128)]
"""A name of a column, table, feature: letters, digits and underscores, not starting with a digit."""

ATOMIC_TYPES = (
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
)
_ALIASES = {
    "bool": "boolean",
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "text": "string",
    "varchar": "string",
    "timestamp_ltz": "timestamp",
    "decimal": "decimal(10,0)",
}
_DEEPEST = 20
"""Arrays and maps inside one another."""
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_NESTED = re.compile(r"(array|map|struct)<(.*)>", re.IGNORECASE | re.DOTALL)


class NotATypeError(ValueError):
    """A text names no Spark SQL type."""

    def __init__(self, text: str) -> None:
        known = ", ".join((*ATOMIC_TYPES, "decimal(p,s)", "array<type>", "map<string,type>"))
        super().__init__(f"{text!r} is no type here; there are {known}")
        self.nearest = nearest(text, (*ATOMIC_TYPES, *_ALIASES))


class SparkType(NamedTuple):
    """A Spark SQL type.

    >>> SparkType.parse("array<float>").element
    SparkType(name='float', precision=0, scale=0, element=None)
    >>> str(SparkType.parse("DECIMAL(12, 2)"))
    'decimal(12,2)'
    """

    name: str
    """One of `ATOMIC_TYPES`, or `decimal`, `array`, `map` (from string), `struct`, `null` (of a bare NULL)."""
    precision: int = 0
    scale: int = 0
    element: SparkType | None = None
    """Of an array or of a map's values."""
    fields: tuple[tuple[str, SparkType], ...] = ()
    """Of a struct, by name."""

    @classmethod
    def parse(cls, text: str) -> SparkType:
        """The type that `text` names; ValueError when there is none."""
        folded = re.sub(r"\s+", "", text).lower()
        folded = _ALIASES.get(folded, folded)
        if folded in ATOMIC_TYPES or folded == "null":
            return cls(folded)
        if decimal := _DECIMAL.fullmatch(folded):
            precision, scale = int(decimal[1]), int(decimal[2])
            if not (1 <= precision <= 38 and scale <= precision):
                raise ValueError(f"{text!r}: a decimal has 1 to 38 digits and no more behind the point than in all")
            return cls("decimal", precision, scale)
        nested = _NESTED.fullmatch(text.strip())
        if nested is None or text.count("<") > _DEEPEST:
            raise NotATypeError(text)
        name, inner = nested[1].lower(), nested[2]
        if name == "struct":
            return cls.of_fields(inner)
        key, _, value = inner.partition(",") if name == "map" else ("string", "", inner)
        if key.strip().lower() != "string":
            raise NotATypeError(text)
        return cls(name, element=cls.parse(value))

    @classmethod
    def of_fields(cls, text: str) -> SparkType:
        """The struct whose fields a schema names: `a INT, b ARRAY<STRING>`, or with colons."""
        parts, depth = [""], 0
        for char in text:
            depth += (char in "<(") - (char in ">)")
            if char == "," and depth == 0:
                parts.append("")
            else:
                parts[-1] += char
        found = [re.fullmatch(r"\s*`?(\w+)`?\s*[:\s]\s*(.+)", part, re.DOTALL) for part in parts]
        if not all(found):
            raise NotATypeError(text)
        return cls("struct", fields=tuple((match[1], cls.parse(match[2])) for match in found if match))

    def field(self, name: str) -> int | None:
        """The place of a struct's field, whatever its case."""
        return next((place for place, (own, _) in enumerate(self.fields) if own.lower() == name.lower()), None)

    def __str__(self) -> str:
        match self.name:
            case "decimal":
                return f"decimal({self.precision},{self.scale})"
            case "array":
                return f"array<{self.element}>"
            case "map":
                return f"map<string,{self.element}>"
            case "struct":
                return f"struct<{','.join(f'{name}:{kind}' for name, kind in self.fields)}>"
            case name:
                return name

    @property
    def is_integer(self) -> bool:
        return self.name in ("tinyint", "smallint", "int", "bigint")

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.name in ("float", "double", "decimal")

    @property
    def is_temporal(self) -> bool:
        return self.name in ("date", "timestamp", "timestamp_ntz")

    @property
    def is_vector(self) -> bool:
        """An array of numbers."""
        return self.name == "array" and self.element is not None and self.element.is_numeric


class _Parsed:
    """A value written as text: validated by `parse`, serialised by `str`."""

    schema: ClassVar[dict[str, Any]]
    """What its JSON schema has beside the type."""

    @classmethod
    def parse(cls, text: str) -> Any:
        raise NotImplementedError

    @classmethod
    def _validate(cls, value: Any) -> Any:
        return value if isinstance(value, cls) else cls.parse(str(value))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", **cls.schema}


_LONGEST = timedelta(days=36525)
"""A century: what is longer is a slip, and soon outside of every calendar."""


@dataclass(frozen=True)
class Duration(_Parsed):
    """A length of time: `30d`, `12h`, `45m`.

    >>> Duration.parse("2h").timedelta
    datetime.timedelta(seconds=7200)
    """

    amount: int
    unit: Literal["d", "h", "m"]

    schema: ClassVar[dict[str, Any]] = {"pattern": r"^[1-9][0-9]*\s*[dhm]$", "examples": ["30m"]}

    @classmethod
    def parse(cls, text: str) -> Duration:
        if not re.match(cls.schema["pattern"], text):
            raise ValueError(f"{text!r} is not a length of time; write a whole number and d, h or m, e.g. '30m'")
        amount, minutes = int(text[:-1]), {"d": 24 * 60, "h": 60, "m": 1}[text[-1]]
        if amount * minutes > _LONGEST.total_seconds() / 60:
            raise ValueError(f"{text!r} is longer than {_LONGEST.days} days")
        return cls(amount, text[-1])  # type: ignore[arg-type]  # the pattern has no other unit

    def __str__(self) -> str:
        return f"{self.amount}{self.unit}"

    @property
    def timedelta(self) -> timedelta:
        """The length, with a day taken as 24 hours."""
        return timedelta(**{{"d": "days", "h": "hours", "m": "minutes"}[self.unit]: self.amount})


@dataclass(frozen=True)
class Window(_Parsed):
    """How far back from the cut-off rows count: `30d` (calendar days of the zone), `12h`, or `all`."""

    amount: int
    unit: Literal["d", "h", "all"]

    schema: ClassVar[dict[str, Any]] = {"pattern": r"^([1-9][0-9]*\s*[dh]|all)$", "examples": ["30d"]}
    ALL: ClassVar[Window]

    @classmethod
    def parse(cls, text: str) -> Window:
        if not re.match(cls.schema["pattern"], text):
            raise ValueError(f"{text!r} is not a window; write days or hours, e.g. '30d' or '12h', or 'all'")
        if text == "all":
            return cls.ALL
        length = Duration.parse(text)
        return cls(length.amount, length.unit)  # type: ignore[arg-type]  # nor has this one

    def __str__(self) -> str:
        return "all" if self.unit == "all" else f"{self.amount}{self.unit}"

    @property
    def timedelta(self) -> timedelta | None:
        """The length with a day taken as 24 hours; None for all history."""
        return None if self.unit == "all" else Duration(self.amount, self.unit).timedelta


Window.ALL = Window(0, "all")


class TypeName(str, _Parsed):
    """A Spark SQL type by name, kept in its canonical spelling; `.parsed` is the `SparkType`."""

    schema: ClassVar[dict[str, Any]] = {"examples": ["bigint", "decimal(12,2)", "array<float>"]}

    @property
    def parsed(self) -> SparkType:
        return SparkType.parse(self)

    @classmethod
    def parse(cls, text: str) -> TypeName:
        kind = SparkType.parse(text)
        if "struct<" in str(kind):
            raise ValueError(f"{text!r}: no column has a struct here; a step can compute columns from its fields")
        return cls(kind)
