"""Whether an expression can be null, told from its form."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from palmette.features.spec import functions
from palmette.features.spec.expressions import function_name


def never_null(node: exp.Expression, certain: Collection[str]) -> bool:
    """True when the value is certainly there, given that the columns in `certain` are; False says nothing."""
    match node:
        case exp.Column():
            return node.name in certain
        case exp.Literal() | exp.Boolean() | exp.Is() | exp.NullSafeEQ() | exp.NullSafeNEQ():
            return True
        case exp.Filter():
            return never_null(node.this, certain)
        case exp.Case():
            default = node.args.get("default")
            results = [branch.args["true"] for branch in node.args["ifs"]]
            return default is not None and all(never_null(item, certain) for item in [*results, default])
        case exp.If():
            results = [node.args["true"], node.args.get("false")]
            return all(item is not None and never_null(item, certain) for item in results)
        case exp.Anonymous():
            return _function(node, certain)
        case (
            exp.Paren()
            | exp.Neg()
            | exp.Not()
            | exp.And()
            | exp.Or()
            | exp.Add()
            | exp.Sub()
            | exp.Mul()
            | exp.EQ()
            | exp.NEQ()
            | exp.GT()
            | exp.GTE()
            | exp.LT()
            | exp.LTE()
            | exp.Between()
            | exp.In()
        ):
            return all(never_null(child, certain) for child in node.iter_expressions())
    return False


def _function(node: exp.Anonymous, certain: Collection[str]) -> bool:
    name = function_name(node)
    certainties = [never_null(argument, certain) for argument in node.expressions]
    return (
        name in functions.names("never_null")
        or (name in functions.names("null_if_any") and all(certainties) and bool(certainties))
        or (name in functions.names("null_if_all") and any(certainties))
    )
