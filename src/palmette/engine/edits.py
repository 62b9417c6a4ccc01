"""Changes from outside a run: edited artefacts, changed inputs, and deleted results."""

from collections.abc import Mapping
from pathlib import Path
from types import GenericAlias
from typing import Any

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from palmette.documents import mistakes
from palmette.engine.actor import Verdict
from palmette.engine.artefacts import VALUE, canonical, plain
from palmette.engine.events import ActorUndone, ArtefactEdited
from palmette.engine.invocation import Invoker
from palmette.engine.recorder import PaidCallCache
from palmette.engine.setup import Setup
from palmette.engine.wiring import Wiring
from palmette.errors import InputError, RunError


class Edits:
    """Makes new versions of changed artefacts, so that exactly their dependants become stale."""

    def __init__(self, setup: Setup, wiring: Wiring, paid_calls: PaidCallCache, invoker: Invoker) -> None:
        self._setup, self._wiring, self._invoker = setup, wiring, invoker
        self._store, self._recorder = paid_calls.store, paid_calls.recorder

    def supply(self, given: Mapping[str, str]) -> None:
        """Takes over given artefacts, by name and digest, whose source has changed since the run began."""
        for name, digest in given.items():
            if self._recorder.state.supplied.get(name) != digest:
                self._recorder.record(ArtefactEdited(artefact=name, digest=digest, by="environment"))
                self._store.publish(name, digest)

    def absorb(self) -> bool:
        """Takes over edits, and completes working copies that a crash left incomplete.

        Returns whether anything was edited.

        Raises:
            InputError: a working copy is unreadable or no longer matches its type.
            RunError: an edited output does not meet its actor's criterion, is measured, or is a copy.
        """
        edited: dict[str, str] = {}
        for name, version in self._recorder.state.artefacts.items():
            if not self._store.is_published(name, version.digest):
                self._store.publish(name, version.digest)
                continue
            digest = self._store.put(self._value(name))
            if digest != version.digest:
                edited[name] = digest
        rank = {self._setup.actors[actor].produces: index for index, actor in enumerate(self._wiring.order)}
        for name in sorted(edited, key=lambda name: rank.get(name, -1)):
            self._take_over(name, edited[name])
        return bool(edited)

    def look_outside(self) -> None:
        """Marks actors stale whose results outside the artefacts no longer exist."""
        for name in self._setup.topology.actors:
            if self._wiring.is_fresh(name, self._recorder.state) and not self._invoker.stands(name):
                self._recorder.record(ActorUndone(actor=name))

    def _value(self, name: str) -> JsonValue:
        """The working copy of an artefact, as its producer's type where there is one."""
        value = self._store.read_copy(name)
        producer = self._wiring.producer.get(name)
        if producer is None:
            return value
        is_list = bool(self._setup.topology.actors[producer].fan_out)
        return typed(value, self._setup.actors[producer].Output, is_list, self._store.copies / name / VALUE)

    def _take_over(self, name: str, digest: str) -> None:
        producer = self._wiring.producer.get(name, "")
        if name in self._setup.copied:
            raise self._refused(name, "is a copy", f"Edit {self._setup.copied[name]} and resume.")
        if producer and self._setup.actors[producer].is_measured:
            raise self._refused(name, "is measured", f"Edit what {producer} measures, and resume.")
        verdict = self._verdict(name, producer, digest) if producer else None
        edit = ArtefactEdited(artefact=name, digest=digest, by="person", actor=producer, verdict=verdict)
        self._recorder.record(edit)
        self._store.publish(name, digest)

    def _refused(self, name: str, why: str, remedy: str) -> RunError:
        """The error for an edit without effect, after restoring the artefact."""
        self._store.publish(name, self._recorder.state.artefacts[name].digest)
        message = f"The artefact {name!r} {why}, so editing it changes nothing; it is as it was."
        return RunError(message, remedy, code="edit-refused")

    def _verdict(self, name: str, producer: str, digest: str) -> Verdict | None:
        """The verdict of the producer's criterion, which must be ok; None if the producer will redo its work anyway."""
        if not self._wiring.is_fresh(producer, self._recorder.state):
            return None
        verdict = self._invoker.recheck(producer, self._store.get(digest))
        if not verdict.ok:
            reasons = "\n".join(f"  {violation.code}: {violation.message}" for violation in verdict.violations)
            message = f"The edited artefact {name!r} does not meet the criterion of {producer}:\n{reasons}\n"
            remedy = f"Mend it in {str(self._store.copies / name)!r}, or delete that to have the old one; then resume."
            raise RunError(message, remedy, code="edit-refused")
        return verdict


def typed(value: JsonValue, output: type[BaseModel], is_list: bool, file: Path) -> JsonValue:
    """An edited artefact as its actor's type, with defaults; InputError with lines of the file if it does not fit."""
    model: Any = GenericAlias(list, (output,)) if is_list else output
    try:
        found = TypeAdapter(model).validate_json(canonical(value))
    except ValidationError as error:
        raise InputError(mistakes(error, model, value, file.read_text("utf-8-sig"), str(file))) from error
    return [plain(one) for one in found] if isinstance(found, list) else plain(found)
