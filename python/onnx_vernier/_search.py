"""The search alone, for any numbered items and any oracle."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core, _options
from ._report import Record


def search(
    n: int,
    oracle: Callable[[list[int]], Any],
    *,
    damages: Sequence[float] | None = None,
    costs: Sequence[float] | None = None,
    max_trials: int = 0,
    prove_minimum: bool = False,
) -> Record:
    """Finds a small set of ``n`` numbered items to keep, with a certificate that none of them can be dropped.

    Args:
        oracle: ``oracle(kept)`` returns whether keeping these items, a sorted list, is good: True, False, or a damage. A
            damage is a float, the share of the allowed error in use; up to 1 is good.
        damages: estimates of the damage of each item if it is not kept. They set the order of trials and never decide.
        costs: the cost of keeping each item, above 0; default: 1.
        max_trials: the maximum number of calls of the oracle; 0: no limit.
        prove_minimum: also prove a lower bound on the cost of any set that passes.

    Returns:
        ``kept``, ``certified``, ``end`` ("certified", "nothing-needed", "impossible", ...), ``trials``, ``cost``,
        ``needed`` (items that were dropped in a trial that failed), ``lower_bound``, ``notes``. The oracle need not be
        monotone.

    Errors: those of ``oracle``. Cost: two trials at the ends, |kept| + 1 for the proof, and a few in between.
    Source: guided prefix and trimming after Zeller & Hildebrandt 2002 and Junker 2004.

    Examples:
        >>> search(10, lambda kept: {3, 7} <= set(kept)).kept
        [3, 7]
    """

    n = _options.count(n, "n")

    def asked(kept: list[int]) -> tuple[str, float | None]:
        said = oracle(list(kept))
        if isinstance(said, (bool, np.bool_)):
            return ("good" if said else "bad"), None
        # sum() of nothing is an integer too.
        if isinstance(said, (int, np.integer)) and not (said == 0 and len(kept) == n):
            raise TypeError(f"the oracle returned {said}, expected True, False, or a damage as a float (up to 1.0 is good)")
        return ("good" if float(said) <= 1 else "bad"), float(said)

    guessed = [1.0] * n if damages is None else [float(each) for each in damages]
    cost = [1.0] * n if costs is None else [float(each) for each in costs]
    if len(guessed) != n or len(cost) != n:
        raise ValueError(f"{n} items, {len(guessed)} damages and {len(cost)} costs")
    if not all(0 < each < math.inf for each in cost) or not all(each >= 0 for each in guessed):
        raise ValueError("costs are above 0 and finite, damages 0 or more")
    return Record(_core.search(guessed, cost, asked, max_trials, prove_minimum, None))
