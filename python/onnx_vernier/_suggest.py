"""Calls with an argument that does not exist name the nearest one that does."""
from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def suggesting(function: Function) -> Function:
    """``function`` as it is, but its TypeError for an unknown argument says which one was meant."""
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        for argument in named:
            if argument not in known:
                near = difflib.get_close_matches(argument, known, 1)
                meant = f": did you mean '{near[0]}'?" if near else ""
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{argument}'{meant}")
        return function(*given, **named)

    return call  # type: ignore[return-value]
