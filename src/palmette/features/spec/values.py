"""Basic values of the file formats: names, types, durations and windows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Context
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, StringConstraints
from pydantic_core import CoreSchema, core_schema

from palmette.errors import nearest

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128)]
"""A name of a column, table, feature: letters, digits and underscores, not starting with a digit."""

EXACT = Context(prec=400)
"""Arithmetic with the digits of every double and decimal; Python's default rounds to 28."""

_NAMES = "boolean tinyint smallint int bigint float double string binary date timestamp timestamp_ntz"
ATOMIC_TYPES = tuple(_NAMES.split())
_ALIASES = {
    "bool": "boolean", "byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float",
    "text": "string", "varchar": "string", "timestamp_ltz": "timestamp", "decimal": "decimal(10,0)",
}  # fmt: skip
_DEEPEST = 20  # maximum nesting depth of arrays and maps
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_NESTED = re.compile(r"(array|map|struct)\s*<(.*)>", re.IGNORECASE | re.DOTALL)


class NotATypeError(ValueError):
    """Raised for text that is not a Spark SQL type."""

    def __init__(self, text: str) -> None:
        known = ", ".join((*ATOMIC_TYPES, "decimal(p,s)", "array<type>", "map<string,type>"))
        super().__init__(f"{text!r} is not a type here; there are {known}")
        self.nearest = nearest(text, (*ATOMIC_TYPES, *_ALIASES))


class SparkType(NamedTuple):
    """A Spark SQL type.

    >>> SparkType.parse("array<float>").element == SparkType("float")
    True
    >>> str(SparkType.parse("DECIMAL(12, 2)"))
    'decimal(12,2)'
    """

    name: str
    """One of `ATOMIC_TYPES`, or `decimal`, `array`, `map` (with string keys), `struct`, `null` (the type of NULL)."""
    precision: int = 0
    scale: int = 0
    element: SparkType | None = None  # the element type of an array, or the value type of a map
    fields: tuple[tuple[str, SparkType], ...] = ()  # name and type of each field of a struct

    @classmethod
    @lru_cache(1024)
    def parse(cls, text: str) -> SparkType:
        """Parses a type; raises ValueError if `text` is not one."""
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
    def of_schema(cls, text: str) -> SparkType:
        """Parses the schema of `from_json`: a nested type, or the fields of a struct."""
        return cls.parse(text) if _NESTED.match(text.strip()) else cls.of_fields(text)

    @classmethod
    def of_fields(cls, text: str) -> SparkType:
        """Parses a schema such as `a INT, b ARRAY<STRING>`, with or without colons, to a struct."""
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
        """The index of a struct's field, ignoring case."""
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
        """Whether this is an array of numbers."""
        return self.name == "array" and self.element is not None and self.element.is_numeric


class _Parsed:
    """A value written as text: validated by `parse`, serialised by `str`."""

    schema: ClassVar[dict[str, Any]]
    """JSON schema keywords in addition to `type`."""

    @classmethod
    def parse(cls, text: str) -> Any:
        raise NotImplementedError

    @classmethod
    def _validate(cls, value: Any) -> Any:
        return value if isinstance(value, cls) else cls.parse(str(value))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.to_string_ser_schema()
        return core_schema.no_info_plain_validator_function(cls._validate, serialization=text)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", **cls.schema}


_LONGEST = timedelta(days=36525)
"""A century; anything longer is a mistake and would exceed the calendar's range."""


_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_LENGTH = r"(?:[1-9][0-9]*d)?(?:[1-9][0-9]*h)?(?:[1-9][0-9]*m)?(?:[1-9][0-9]*s)?"


@dataclass(frozen=True)
class Duration(_Parsed):
    """A length of time: `30d`, `12h`, `1h30m`, `45s`.

    >>> str(Duration.parse("90m")), Duration.parse("2h").timedelta
    ('1h30m', datetime.timedelta(seconds=7200))
    """

    days: int  # stored separately because a day is not always 24 hours
    seconds: int = 0

    schema: ClassVar[dict[str, Any]] = {"pattern": rf"^(?=.){_LENGTH}$", "examples": ["30m"]}
    form: ClassVar[str] = "is not a length of time; write whole numbers with d, h, m or s, e.g. '30m' or '1h30m'"

    @classmethod
    def parse(cls, text: str) -> Self:
        text = re.sub(r"\s+", "", text)
        if not re.match(cls.schema["pattern"], text):
            raise ValueError(f"{text!r} {cls.form}")
        amounts = {unit: int(amount) for amount, unit in re.findall(r"(\d+)([dhms])", text)}
        if sum(amount * _UNITS[unit] for unit, amount in amounts.items()) > _LONGEST.total_seconds():
            raise ValueError(f"{text!r} is longer than {_LONGEST.days} days")
        return cls(amounts.pop("d", 0), sum(amount * _UNITS[unit] for unit, amount in amounts.items()))

    def __str__(self) -> str:
        hours, rest = divmod(self.seconds, 3600)
        parts = {"d": self.days, "h": hours, "m": rest // 60, "s": rest % 60}
        return "".join(f"{amount}{unit}" for unit, amount in parts.items() if amount)

    @property
    def timedelta(self) -> timedelta:
        """The length, counting a day as 24 hours."""
        return timedelta(days=self.days, seconds=self.seconds)

    def stepped(self, by: int) -> Self:
        """Longer by `by` of the smallest unit it is written with."""
        unit = str(self)[-1]
        return type(self)(self.days + by, 0) if unit == "d" else type(self)(self.days, self.seconds + by * _UNITS[unit])


@dataclass(frozen=True)
class Window(Duration):
    """The length of a window before the cut-off: `30d` (calendar days in the view's zone), `12h`, `1h30m`, or `all`."""

    schema: ClassVar[dict[str, Any]] = {"pattern": rf"^((?=.){_LENGTH}|all)$", "examples": ["30d"]}
    form: ClassVar[str] = "is not a window; write days, hours, minutes or seconds, e.g. '30d' or '1h30m', or 'all'"
    ALL: ClassVar[Window]

    @property
    def timedelta(self) -> timedelta:
        """The length, counting a day as 24 hours; all history is longer than any other."""
        return timedelta.max if self == Window.ALL else super().timedelta

    def __str__(self) -> str:
        return super().__str__() or "all"


Window.ALL = Window(0)


def longest(windows: Iterable[Window]) -> Window | None:
    """The longest window; None if there is none."""
    return max(windows, key=attrgetter("timedelta"), default=None)


class TypeName(str, _Parsed):
    """A Spark SQL type name in canonical spelling; `.parsed` is the `SparkType`."""

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
