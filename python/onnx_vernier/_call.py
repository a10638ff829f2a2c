"""Calls jobs of the library, for all functions of this package."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._model import inputs_of
from ._progress import Listener, Progress
from ._report import DiagnoseReport


def call(job: Any, options: Any, progress: bool | Progress | None) -> Any:
    listener = Listener(progress)
    try:
        return job(options, listener)
    except KeyboardInterrupt as interrupt:
        if isinstance(told := getattr(interrupt, "report", None), tuple):
            interrupt.report = DiagnoseReport(told)  # type: ignore[attr-defined]
        raise
    finally:
        listener.close()


def names_of_inputs(model: Any) -> Callable[[], list[str]]:
    return functools.cache(lambda: list(inputs_of(model)))
