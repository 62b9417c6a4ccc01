"""Turns pydantic's validation errors into plain messages: what is wrong, what was intended, what to do."""

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, ValidationError

from palmette._yaml import Parsed, Path, spell
from palmette.errors import Mistake, did_you_mean
from palmette.problems import fault

_EXPECTED = {
    kind: expected
    for expected, kinds in {
        "text": "string_type",
        "a whole number": "int_type int_parsing int_from_float",
        "a whole number of bounded size": "int_parsing_size",
        "a number": "float_type float_parsing",
        "a finite number": "finite_number",
        "true or false": "bool_type bool_parsing",
        "a mapping": "dict_type model_type model_attributes_type mapping_type",
        "a list": "tuple_type list_type",
        "nothing": "none_required",
        "a date and time such as '2025-03-31T00:00:00Z'": "datetime_type datetime_parsing datetime_from_date_parsing "
        "datetime_object_invalid",
    }.items()
    for kind in kinds.split()
}
"""The expected value, by pydantic's kind of error."""
_NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"


def explain(error: ValidationError, model: type[BaseModel], parsed: Parsed) -> list[Mistake]:
    """As `explain_fields`, but a single problem for a document of another format."""
    if _is_another(model, parsed.value):
        fields = model.model_fields
        has, wants = list(parsed.value), [name for name in fields if fields[name].is_required()] or list(fields)
        hint = did_you_mean(has[0], fields) if has else ""
        found = fault("another-format", model=model.__name__, has=has[:5], hint=hint, wants=wants[:12])
        return [replace(found, line=1)]
    return explain_fields(error, model, parsed)


def explain_fields(error: ValidationError, model: Any, parsed: Parsed) -> list[Mistake]:
    """One problem per invalid field, with its line; `model` is the validated type."""
    grouped: dict[Path, list[Mapping[str, Any]]] = {}
    for item in error.errors(include_url=False):
        grouped.setdefault(_path(item, parsed.value), []).append(item)
    around = {path[:length] for path in grouped for length in range(len(path))}
    problems = []
    for path, items in grouped.items():
        wrong_type = [item for item in items if item["type"] in _EXPECTED]
        vague = [*wrong_type, *(item for item in items if item["type"] == "too_short")]
        if len(vague) == len(items) and path in around:
            # The other alternatives of a union, and the length of a list without its wrong items: the mistake that
            # was made is the one further down.
            continue
        chosen = next((item for item in items if item not in wrong_type), None)
        problem = _describe(_with_all_choices(chosen, items), path, model) if chosen else _wrong_type(items)
        field = spell(path)
        problems.append(replace(problem, line=_line(field, path, parsed), field=field))
    return problems


def _is_another(model: type[BaseModel], value: Any) -> bool:
    """Whether a document lacks its format's version key, and most of its keys are unknown."""
    unknown = [key for key in value if key not in model.model_fields]
    version = value.get(next(iter(model.model_fields)))
    return not isinstance(version, int) and len(unknown) > len(value) / 2


def _line(field: str, path: Path, parsed: Parsed) -> int:
    while field not in parsed.lines and path:
        path = path[:-1]
        field = spell(path)
    return parsed.lines.get(field, 1)


def _path(item: Mapping[str, Any], value: Any) -> Path:
    """Pydantic's location of an error without its labels, such as those of a union's members."""
    path: Path = ()
    for part in item["loc"]:
        is_there = part in value if isinstance(value, dict) else isinstance(value, list) and isinstance(part, int)
        if is_there:
            value = value[part]
        elif item["type"] != "missing" or part != item["loc"][-1]:
            continue
        path = (*path, part)
    return path


def _fields_at(kind: Any, path: Path) -> list[str]:
    """The fields of the model at a path inside a type; of a union, those of the first member that has the path."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields, path = kind.model_fields, ("root", *path) if issubclass(kind, RootModel) else path
        if not path:
            return list(fields)
        return _fields_at(fields[str(path[0])].annotation, path[1:]) if path[0] in fields else []
    if get_origin(kind) not in (Annotated, Union, types.UnionType):
        path = path[1:]  # an index of a list, or a key of a mapping
    return next(filter(None, (_fields_at(one, path) for one in get_args(kind))), [])


def _wrong_type(items: Sequence[Mapping[str, Any]]) -> Mistake:
    expected = list(dict.fromkeys(_EXPECTED[item["type"]] for item in items if item["type"] in _EXPECTED))
    value = items[0]["input"]
    remedy = f"Write {' or '.join(expected)}."
    if "text" in expected and isinstance(value, int | float):
        remedy = f"Put it in quotes: '{_shown(value)}'."
    return fault("wrong-type", _shown(value), spoken=_spoken(value), expected=" or ".join(expected), remedy=remedy)


def _with_all_choices(item: Mapping[str, Any], details: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The error of a union of choices, with the choices of all members."""
    if item["type"] != "literal_error":
        return item
    expected = " or ".join(one["ctx"]["expected"] for one in details if one["type"] == "literal_error")
    return {**item, "ctx": {"expected": expected}}


def _describe(item: Mapping[str, Any], path: Path, model: Any) -> Mistake:
    """One error at a path of a model as a message; the caller adds the location."""
    value, kind, context = item["input"], item["type"], item.get("ctx", {})
    key, shown, spoken = str(path[-1]) if path else "", _shown(value), _spoken(value)
    match kind:
        case "extra_forbidden":
            return fault("unknown-key/comma" if _is_rest(key) else "unknown-key", key, _fields_at(model, path[:-1]))
        case "missing":
            return fault("missing-key", key)
        case "literal_error":
            expected = context.get("expected", "")
            known = re.findall(r"'([^']*)'", expected) or [expected]
            if shown in known:
                return fault("wrong-type/quotes", shown)
            return fault("invalid-choice", shown, known, spoken=spoken)
        case "string_pattern_mismatch" if context.get("pattern") == _NAME_PATTERN:
            return fault("invalid-name/comma" if _is_rest(value) else "invalid-name/letters", shown)
        case "string_pattern_mismatch":
            return fault("invalid-value/form", shown, spoken=spoken, form=context.get("pattern"))
        case "too_short" | "string_too_short":
            return fault("empty-value" if kind == "too_short" else "empty-value/text", shown, key=key)
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            return fault("out-of-range", shown, spoken=spoken, why=_lower(item["msg"]))
        case "timezone_aware":
            return fault("missing-offset", shown)
        case "value_error":
            reason = context.get("error")
            hint = getattr(reason, "nearest", None)
            problem = fault("invalid-value/hint" if hint else "invalid-value", shown, why=reason)
            return replace(problem, nearest=hint)
    return fault("invalid-value", shown, why=f"{spoken}: {_lower(item['msg'])}")


def _is_rest(key: str) -> bool:
    """Whether a key is the end of a value with a comma in it, as in `{derive: round(x, 2)}`."""
    return any(key.count(one) != key.count(other) for one, other in ("()", "[]", "<>"))


def _lower(message: str) -> str:
    return re.sub(r"^Input ", "it ", message).rstrip(".")


def _shown(value: Any) -> str:
    """The value as YAML, shortened."""
    text = {"True": "true", "False": "false", "None": "null"}.get(str(value), str(value))
    return text if len(text) <= 80 else f"{text[:77]}..."


def _spoken(value: Any) -> str:
    if value is None:
        return "Nothing"
    if isinstance(value, dict):
        return "A mapping"
    if isinstance(value, list | tuple):
        return "A list"
    return repr(value) if isinstance(value, str) and len(value) <= 80 else _shown(value)
