"""Calls with an argument that does not exist name the nearest one that does, and earlier names keep working."""
from __future__ import annotations

import difflib
import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

# Earlier name -> today's.
RENAMED = {"min_same_top1": "min_top1_agreement"}
# Flags of the command line that are values of `low` here.
LOW = {"int8": "int8", "int4": "int4", "int16": "int16", "fp16": "float16", "bf16": "bfloat16", "fp8": "float8e4m3fn", "nvfp4": "nvfp4",
       "mxfp8": "mxfp8", "mxfp4": "mxfp4"}


def suggesting(**defaults: Any) -> Callable[[Function], Function]:
    """Completes the ``**options`` of a function with ``defaults``. A TypeError for an unknown argument names the nearest."""

    def decorate(function: Function) -> Function:
        parameters = inspect.signature(function).parameters.values()
        known = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD] + list(defaults)

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            for argument in list(named):
                if argument in known:
                    continue
                current = RENAMED.get(argument)
                if current in known and current not in named:
                    warnings.warn(f"{argument} is now {current}", DeprecationWarning, stacklevel=2)
                    named[current] = named.pop(argument)
                    continue
                near = [current] if current in known else difflib.get_close_matches(argument, known, 1)
                value = LOW.get(argument) if "low" in known else None
                meant = f": did you mean low='{value}'?" if value else f": did you mean '{near[0]}'?" if near else ""
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{argument}'{meant}")
            return function(*given, **{**defaults, **named})

        return call  # type: ignore[return-value]

    return decorate
