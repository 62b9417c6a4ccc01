"""A harness that remembers: the same code on the same rows is executed once, whatever else a run has changed.

What an execution can see is in its key: the files of the checkout, arguments and rows. Tests are left out where the
script is what runs, because a script that imports tests is refused before it is executed; so one script under other
tests is not run again.
"""

import base64
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from palmette.features.frame import Frame
from palmette.features.harness.connect import (
    CaseResult,
    ConnectHarness,
    MainResult,
    OrderOfTests,
    ScriptCase,
    SuiteResult,
)
from palmette.sandbox import ExecutionResult
from palmette_bench.featbench.result_cache import ResultCache


@dataclass(frozen=True)
class CachedHarness(ConnectHarness):
    """Executes what the memory does not have."""

    memory: ResultCache | None = None

    def execute(
        self, script: Path, entry: str, cases: Sequence[ScriptCase], *, root: Path, python_path: Sequence[Path] = ()
    ) -> list[CaseResult]:
        def make() -> Any:
            made = super(CachedHarness, self).execute(script, entry, cases, root=root, python_path=python_path)
            return [{**vars(one), "frame": _kept(one.frame)} for one in made]

        key = ["execute", _place(script, root), entry, _places(python_path, root), [_case(case) for case in cases]]
        found = self._recall(key, root, make, with_tests=False)
        return [CaseResult(**{**one, "frame": _given(one["frame"])}) for one in found]

    def run_tests(
        self,
        tests: Path,
        variants: Mapping[str, str],
        script: Path,
        *,
        root: Path,
        python_path: Sequence[Path] = (),
        orders: Mapping[str, OrderOfTests] = {},
        builder: str = "",
    ) -> dict[str, SuiteResult]:
        def make() -> Any:
            made = super(CachedHarness, self).run_tests(
                tests, variants, script, root=root, python_path=python_path, orders=orders, builder=builder
            )
            return {name: {**vars(one)} for name, one in made.items()}

        key = ["tests", *(_place(path, root) for path in (tests, script)), _places(python_path, root)]
        found = self._recall([*key, dict(variants), dict(orders)], root, make, with_tests=True)
        return {name: SuiteResult(**{**one, "passed": tuple(one["passed"])}) for name, one in found.items()}

    def run_main(
        self,
        script: Path,
        argv: Sequence[str],
        *,
        then: Sequence[Sequence[str]] = (),
        function: str = "",
        few_rows: bool = False,
        root: Path,
        seconds: float = 120.0,
    ) -> MainResult:
        def make() -> Any:
            before = _contents(root)
            made = super(CachedHarness, self).run_main(
                script, argv, then=then, function=function, few_rows=few_rows, root=root, seconds=seconds
            )
            after = _contents(root)
            written = {name: _encoded(text) for name, text in after.items() if before.get(name) != text}
            left = {"written": written, "removed": sorted(before.keys() - after.keys())}
            execution = made.execution.model_dump(mode="json")
            return {"error": made.error, "trace": made.trace, "calls": made.calls, "execution": execution, **left}

        key = ["main", _place(script, root), *map(list, (argv, *then)), function, few_rows]
        found = self._recall(key, root, make, with_tests=False)
        for name, text in found["written"].items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(base64.b64decode(text))
        for name in found["removed"]:
            (root / name).unlink(missing_ok=True)
        execution = ExecutionResult.model_validate(found["execution"])
        return MainResult(found["error"], found["trace"], execution, found["calls"])

    def _recall(self, key: list[Any], root: Path, make: Callable[[], Any], *, with_tests: bool) -> Any:
        if self.memory is None:
            return make()
        return self.memory.recall([*key, _tree(root, with_tests=with_tests)], make).value


def _tree(root: Path, *, with_tests: bool) -> dict[str, str]:
    """The files of a checkout with their digests; where the checkout itself is named in them does not count."""
    here = str(root.resolve()).encode()
    return {
        name: hashlib.sha256(text.replace(here, b"<root>").replace(str(root).encode(), b"<root>")).hexdigest()
        for name, text in _contents(root).items()
        if with_tests or not _is_test(Path(name))
    }


def _contents(root: Path) -> dict[str, bytes]:
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def _is_test(path: Path) -> bool:
    return path.suffix == ".py" and (path.stem.startswith("test_") or "tests" in path.parts)


def _place(path: Path, root: Path) -> str:
    path, root = path.resolve(), root.resolve()
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _places(paths: Sequence[Path], root: Path) -> list[str]:
    return [_place(path, root) for path in paths]


def _case(case: ScriptCase) -> list[Any]:
    script = case.script.read_text(encoding="utf-8") if case.script else None
    frames = {name: hashlib.sha256(repr(frame).encode()).hexdigest() for name, frame in case.frames.items()}
    return [case.name, frames, str(case.as_of), case.session_zone, case.partitions, case.plan, script]


def _kept(frame: Frame | None) -> str | None:
    if frame is None:
        return None
    out = io.BytesIO()
    table = frame.to_arrow()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return _encoded(out.getvalue())


def _given(text: str | None) -> Frame | None:
    if text is None:
        return None
    with pa.ipc.open_stream(base64.b64decode(text)) as reader:
        return Frame.from_arrow(reader.read_all())


def _encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()
