"""Functions of users: ways to choose ranges, causes, repairs."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import _core
from ._arrays import as_array, from_core, to_core
from ._errors import UsageError
from ._model import Model, model_of
from ._report import Record

Calibration = str | Callable[[Record], tuple[float, float]]
_KNOWN_OF_IDEAS = ("layers", "ranges", "constants", "model", "what", "why_not")
_KNOWN_OF_CAUSES = ("sentence", "tensor", "confidence", "figures", "repairs")


def calibration(given: Calibration) -> _core.CalibrationChoice:
    """A method by its name, or a function of the user."""
    if isinstance(given, str):
        return _core.CalibrationChoice(given)
    if not callable(given):
        raise UsageError(f"calibration={given!r:.80}: expected a method's name or a function", "minmax, entropy, mse, auto")
    name = name_of(given)

    def chosen(seen: Mapping[str, Any]) -> tuple[float, float]:
        return _range(f"calibration={name}", seen["tensor"], given(_record(seen)))

    return _core.calibration_by(chosen, name)


def causes(given: Mapping[str, Callable[[Record], Any]] | Iterable[Callable[[Record], Any]]) -> list[_core.CauseFinder]:
    return [_core.CauseFinder.of(name, _cause(name, function)) for name, function in _named(given, "causes")]


def repairs(given: Mapping[str, Callable[[Record], Any]] | Iterable[Callable[[Record], Any]]) -> list[_core.RepairMethod]:
    made = []
    for name, function in _named(given, "repairs"):
        if name in _core.repair_names():
            raise UsageError(f"repairs: {name!r} is already a repair", "choose another name")
        text = ((function.__doc__ or "").strip() or name).split("\n")[0]
        made.append(_core.RepairMethod.of(name, text, _repair(name, function)))
    return made


def name_of(function: Any) -> str:
    name = getattr(function, "__name__", None) or type(function).__name__
    return "a function" if name == "<lambda>" else str(name)


def _named(given: Any, argument: str) -> list[tuple[str, Callable[[Record], Any]]]:
    if callable(given):
        given = [given]
    if not isinstance(given, Iterable):
        raise UsageError(f"{argument}={given!r}: a function, a list of functions, or {{name: function}}")
    pairs = given.items() if isinstance(given, Mapping) else [(name_of(each).replace("_", "-"), each) for each in given]
    listed = [(str(name), function) for name, function in pairs]
    for name, function in listed:
        if not callable(function):
            raise UsageError(f"{argument}: {function!r} is not a function")
        if [other for other, _ in listed].count(name) > 1:
            raise UsageError(f"{argument}: two functions are called {name!r}", "name them: {name: function}")
    return listed


def _cause(name: str, function: Callable[[Record], Any]) -> Callable[[Mapping[str, Any]], Any]:
    def found(seen: Mapping[str, Any]) -> Any:
        answer = function(_record(seen))
        if answer is None or answer is False:
            return None
        if not isinstance(answer, (str, Mapping)):
            raise UsageError(f"cause {name} returned {answer!r:.80}, expected None, a sentence, or {{'sentence': ...}}")
        said = {"sentence": answer} if isinstance(answer, str) else dict(answer)
        _refuse_unknown(f"cause {name}", said, _KNOWN_OF_CAUSES)
        if not said.get("sentence"):
            raise UsageError(f"cause {name}: the sentence is missing")
        figures = [
            (figure, float(value), "") if not isinstance(value, tuple) else (figure, float(value[0]), str(value[1]))
            for figure, value in dict(said.get("figures", {})).items()
        ]
        return said["sentence"], said.get("tensor", ""), float(said.get("confidence", 0.5)), figures, list(said.get("repairs", []))

    return found


def _repair(name: str, function: Callable[[Record], Any]) -> Callable[[Mapping[str, Any]], Any]:
    def proposed(seen: Mapping[str, Any]) -> list[Any]:
        network = _record({key: value for key, value in seen.items() if key != "model"})
        network["model"] = Model(seen["model"])
        ideas = []
        answer = function(network)
        if isinstance(answer, (Mapping, str)) or not isinstance(answer, Iterable | None):
            raise UsageError(f"repair {name} returned {answer!r:.80}, expected a list of {{'layers': ..., ...}}")
        for idea in answer or ():
            if not isinstance(idea, Mapping):
                raise UsageError(f"repair {name} returned {idea!r:.80}, expected {{'layers': ..., ...}}")
            said = dict(idea)
            _refuse_unknown(f"repair {name}", said, _KNOWN_OF_IDEAS)
            layers = said.get("layers", ())
            model = said.get("model")
            ideas.append(
                (
                    [layers] if isinstance(layers, str) else list(layers),
                    {tensor: _range(f"repair {name}", tensor, ends) for tensor, ends in said.get("ranges", {}).items()},
                    {constant: to_core(np.asarray(as_array(value), np.float32)) for constant, value in said.get("constants", {}).items()},
                    None if model is None else model_of(model),
                    str(said.get("what", "")),
                    str(said.get("why_not", "")),
                )
            )
        return ideas

    return proposed


def _range(whose: str, tensor: str, ends: Any) -> tuple[float, float]:
    try:
        low, high = ends
        return float(low), float(high)
    except (TypeError, ValueError):
        raise UsageError(f"{whose} returned {ends!r:.80} for {tensor!r}, expected (low, high)") from None


def as_number(whose: str, value: Any) -> float:
    """The number that a user's function returned."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{whose} returned {value!r:.80}, expected a number") from None


def _refuse_unknown(whose: str, said: Mapping[str, Any], known: tuple[str, ...]) -> None:
    if unknown := [name for name in said if name not in known]:
        raise UsageError(f"{whose}: unknown key {unknown[0]!r}, expected one of {', '.join(known)}")


def _record(value: Any) -> Any:
    """Dicts as records, arrays as arrays."""
    if isinstance(value, Mapping):
        return Record({name: _record(item) for name, item in value.items()})
    if isinstance(value, list):
        return [_record(item) for item in value]
    if isinstance(value, tuple) and len(value) == 3 and isinstance(value[2], str):
        return from_core(value)
    return value
