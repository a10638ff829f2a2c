"""Progress and warnings of running jobs."""
from __future__ import annotations

import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from ._errors import in_python_words

Progress = Callable[[str, int, int], Any]


class VernierWarning(UserWarning):
    """A warning about a result; the report's ``warnings`` hold it too. ``code`` says which one it is, and stays when its
    words change."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


def _caller() -> int:
    """The stacklevel of the first frame outside this package, for the caller of this function."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


class Listener:
    """Called on the thread that called the job."""

    def __init__(self, progress: bool | Progress | None) -> None:
        self._call = progress if callable(progress) else None
        self._bar: Any = None
        self._step = self._text = ""
        self._begun = time.monotonic()
        # By default bars appear only where somebody sees them. Without ipywidgets a notebook keeps every state of a bar.
        shows = progress is True or (progress is None and (sys.stderr.isatty() or _notebook_draws()))
        self._tqdm = _tqdm() if shows and self._call is None else None

    def __call__(self, kind: str, text: str, done: int, total: int, code: str = "") -> None:
        if kind == "warning":
            warnings.warn(VernierWarning(in_python_words(text), code), stacklevel=_caller())
        elif kind == "step":
            self._step = f"{done} of {total}  "
        elif kind == "progress":
            if self._call is not None:
                self._call(text, done, total)
            elif self._tqdm is not None:
                self._draw(self._step + text, done, total)

    def _draw(self, text: str, done: int, total: int) -> None:
        """One bar, restarted in each phase. A phase without a known end only counts."""
        if self._bar is None:
            if time.monotonic() - self._begun < 1:  # short jobs show nothing
                return
            self._bar = self._tqdm(total=total or None, leave=False)
        if text != self._text or self._bar.n > done:
            self._text = text
            self._bar.reset(total=total or None)
            self._bar.set_description(text, refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _notebook_draws() -> bool:
    return "ipykernel" in sys.modules and importlib.util.find_spec("ipywidgets") is not None


def _tqdm() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tqdm recommends another package
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm
