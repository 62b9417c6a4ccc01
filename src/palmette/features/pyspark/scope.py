"""State shared by all parts of the script writer: the view, the cut-off as code, chosen utilities, and used names."""

import builtins
import keyword
import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from itertools import count

from palmette.features.artefacts import Need, Utilities, Utility
from palmette.features.pyspark.code import CodeFragment, function, renamed
from palmette.features.pyspark.expressions import TRY_DIVIDE, translate
from palmette.features.spec.view import AS_OF, Schema, View

RESERVED = {
    "F", "T", "Window", "Any", "Column", "DataFrame", "Path", "SparkSession", "argparse", "argv", "as_of", "config",
    "date", "datetime", "features", "keys", "moment", "rows", "spark", "spine", "timedelta", "timezone", "yaml",
}  # fmt: skip


def free_name(wanted: str, taken: Container[str]) -> str:
    """The name, or its first numbered variant that is not taken."""
    return next(name for n in count(1) if (name := f"{wanted}_{n}" if n > 1 else wanted) not in taken)


def identifier(text: str) -> str:
    """Converts text to a valid Python variable name.

    >>> identifier("class"), identifier("2nd try")
    ('class_', '_2nd_try')
    """
    name = re.sub(r"\W", "_", text)
    name = name if name[:1].isalpha() or name.startswith("_") else f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) or hasattr(builtins, name) or name in RESERVED else name


@dataclass(frozen=True)
class ScriptScope:
    view: View
    utilities: Utilities
    taken: set[str]  # the identifiers of the script; each is used once
    functions: list[str] = field(default_factory=list)  # source of the transforms, in file order
    used: set[Need] = field(default_factory=set)  # the needs that a utility was called for
    constants: dict[str, str] = field(default_factory=dict)
    """Module constants that the transforms use: name to value as source."""
    imports: list[str] = field(default_factory=list)
    """Import statements for classes of the team that the script creates."""

    @property
    def per_row(self) -> bool:
        """Whether each row of the spine has its own cut-off."""
        return self.view.cutoff == "spine"

    @property
    def cutoff(self) -> CodeFragment:
        return CodeFragment('F.col("as_of")', column=AS_OF) if self.per_row else CodeFragment("F.lit(as_of)")

    @property
    def row_keys(self) -> tuple[str, ...]:
        """Grouping keys in addition to the entity's: the cut-off if each row has its own."""
        return (AS_OF,) if self.per_row else ()

    def fresh(self, wanted: str) -> str:
        """Reserves `wanted` as an identifier, or a variant of it that is still unused."""
        name = free_name(identifier(wanted), self.taken)
        self.taken.add(name)
        return name

    def team_class(self, class_name: str) -> str:
        """Imports a class given as `module:Class`; returns its name in the script, another one if its own is in use."""
        module, _, path = class_name.partition(":")
        outer, *inner = path.split(".")
        name = self.fresh(outer)
        self.imports.append(f"from {module} import {outer}{f' as {name}' if name != outer else ''}")
        return ".".join([name, *inner])

    def write(self, name: str, frames: Iterable[str], doc: str, body: list[str], further: Iterable[str] = ()) -> bool:
        """Adds a transform of data frames; returns whether it also takes the cut-off, because its body uses it.

        `further` are its other parameters.
        """
        takes_as_of = any(renamed(line, "as_of", "") != line for part in body for line in part.split("\n"))
        parameters = [*(f"{frame}: DataFrame" for frame in dict.fromkeys(frames)), *further]
        parameters += ["as_of: datetime"] * takes_as_of
        self.functions.append(function(name, parameters, "DataFrame", doc, body))
        return takes_as_of

    def constant(self, wanted: str, value: str) -> str:
        """The name of the module constant with this value; adds it if needed, as `wanted` or a variant."""
        name = free_name(wanted, [name for name, other in self.constants.items() if other != value])
        self.constants[name] = value
        return name

    def utility(self, need: Need) -> Utility | None:
        return next((utility for utility in self.utilities.chosen if utility.need == need), None)

    def utility_call(self, need: Need, **arguments: str) -> str | None:
        """A call of the repository's function for `need`; None if there is none that accepts these arguments."""
        utility = self.utility(need)
        if utility is None or not set(re.findall(r"{(\w+)}", utility.call)) <= set(arguments):
            return None
        self.used.add(need)
        return utility.call.format(**arguments)

    def utility_transform(self, need: Need, **arguments: str) -> str | None:
        """As `utility_call`, for functions on a data frame, as a call in a chain: `transform(latest_per_key, ...)`."""
        utility = self.utility(need)
        match = re.fullmatch(r"([\w.]+)\({df}, (.*)\)", utility.call) if utility else None
        if utility is None or match is None or not set(re.findall(r"{(\w+)}", match[2])) <= set(arguments):
            return None
        self.used.add(need)
        return f"transform({match[1]}, {match[2].format(**arguments)})"

    def sql(self, text: str, schema: Schema) -> CodeFragment:
        """Translates an expression, with the repository's own division if it has one."""
        divide = self.utility("divide")
        code = translate(text, schema, divide.call if divide else TRY_DIVIDE)
        if divide and re.search(rf"\b{divide.name}\(", code.text):
            self.used.add("divide")
        return code

    def keys_name(self, keys: tuple[str, ...]) -> str:
        """A name for a set of keys; complete entities are named by entity, e.g. `user_offer`."""
        rest, parts = set(keys), []
        for entity in self.view.spec.entities:
            if set(entity.keys) <= rest:
                parts.append(entity.name)
                rest -= set(entity.keys)
        return "_".join(parts + [key for key in keys if key in rest])
