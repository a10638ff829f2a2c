"""The search by itself: any numbered things, and any oracle."""
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
    """A small set of ``n`` numbered items to keep, and a certificate that none of them can be dropped.

    Args:
        oracle: ``oracle(kept)`` says of a sorted list of items whether keeping these is good: True, False, or a damage (a
            float: the share of what is allowed that is used; up to 1 is good).
        damages: a guess of what each item alone does when it is not kept; chooses what is asked first, never decides.
        costs: of keeping each item, above 0; default: 1.
        max_trials: of the oracle; 0: no limit. prove_minimum: also bounds the cost of any passing set from below.

    Returns:
        ``kept``, ``certified``, ``end`` ("certified", "nothing-needed", "impossible", ...), ``trials``, ``cost``,
        ``needed`` (items whose drop was tested and failed), ``lower_bound``, ``notes``. No monotonicity is assumed.

    Errors: what ``oracle`` raises. Cost: both ends, |kept| + 1 trials for the proof, and a few on the way there.
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
        # What sum() says of nothing is an integer, too.
        if isinstance(said, (int, np.integer)) and not (said == 0 and len(kept) == n):
            raise TypeError(f"the oracle said {said}: True or False, or a damage as a float (up to 1.0 is good)")
        return ("good" if float(said) <= 1 else "bad"), float(said)

    guessed = [1.0] * n if damages is None else [float(each) for each in damages]
    cost = [1.0] * n if costs is None else [float(each) for each in costs]
    if len(guessed) != n or len(cost) != n:
        raise ValueError(f"{n} items, {len(guessed)} damages and {len(cost)} costs")
    if not all(0 < each < math.inf for each in cost) or not all(each >= 0 for each in guessed):
        raise ValueError("costs are above 0 and finite, damages 0 or more")
    return Record(_core.search(guessed, cost, asked, max_trials, prove_minimum, None))
