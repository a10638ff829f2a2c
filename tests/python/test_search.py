"""The search with oracles of Python's."""
import itertools

import onnx_vernier as vernier
import pytest


def test_finds_what_is_needed():
    found = vernier.search(20, lambda kept: {3, 7, 11} <= set(kept))
    assert found.kept == [3, 7, 11] and found.certified and found.end == "certified"
    assert sorted(found.needed) == [3, 7, 11]


def test_damages_add_up():
    damage = [0.01 * (i + 1) ** 2 for i in range(12)]
    found = vernier.search(
        12, lambda kept: sum(d for i, d in enumerate(damage) if i not in kept), damages=damage, prove_minimum=True)
    total = [sum(d for i, d in enumerate(damage) if i not in s) for s in [found.kept]]
    assert total[0] <= 1 and found.certified
    smallest = next(n for n in range(13) if any(
        sum(damage[i] for i in range(12) if i not in s) <= 1 for s in itertools.combinations(range(12), n)))
    assert len(found.kept) == smallest == found.lower_bound


def test_ends():
    assert vernier.search(5, lambda kept: True).end == "nothing-needed"
    assert vernier.search(5, lambda kept: False).end == "impossible"
    assert vernier.search(0, lambda kept: True).kept == []
    with pytest.raises(KeyError):
        vernier.search(5, lambda kept: {}["no"])
    with pytest.raises(ValueError, match="5 items"):
        vernier.search(5, lambda kept: True, costs=[1])
