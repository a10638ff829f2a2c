"""A change runs a sample of the tests that are many of one kind; `scripts/test --release` runs all of them."""
import hashlib
import os

import numpy as np
import pytest

ONE_IN = 6
DRAWN = set()  # files that have such tests, and random data


def pytest_configure(config):
    config.addinivalue_line("markers", f"sampled: one of many of its kind, of which each change runs one in {ONE_IN}")


def pytest_collection_modifyitems(config, items):
    """VERNIER_SAMPLE names the change: the same one runs the same tests wherever it is tested. Of each file it runs at least
    one, and tests with the same parameters together, as they share what was made for them."""
    many = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            many.setdefault(item.path, []).append(item)
    DRAWN.update(path for path, of_file in many.items() if hasattr(of_file[0].module, "rng"))
    change = os.environ.get("VERNIER_SAMPLE")
    if not change:
        return

    def place(item):
        parameters = item.callspec.id if hasattr(item, "callspec") else item.name
        return hashlib.sha256(f"{change} {item.path.name} {parameters}".encode()).digest()

    left_out = {item for of_file in many.values() for item in sorted(of_file, key=place)[-(-len(of_file) // ONE_IN):]}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(autouse=True)
def own_data(request):
    """Each test has random data of its own, whichever tests ran before."""
    if request.path in DRAWN:
        seed = hashlib.sha256(f"{request.path.name}::{request.node.name}".encode()).digest()
        request.module.rng.bit_generator.state = np.random.default_rng(list(seed)).bit_generator.state
