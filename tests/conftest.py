"""A change runs a sample of the tests that are many of one kind; `scripts/test --release` runs all of them."""
import hashlib
import os

ONE_IN = 4


def pytest_configure(config):
    config.addinivalue_line("markers", "sampled: one of many of its kind, of which each change runs one in four")


def pytest_collection_modifyitems(config, items):
    """VERNIER_SAMPLE names the change: the same one runs the same tests wherever it is tested."""
    change = os.environ.get("VERNIER_SAMPLE")
    if not change:
        return

    def runs(item):
        place = hashlib.sha256(f"{change} {item.nodeid.rpartition('/')[2]}".encode()).digest()
        return item.get_closest_marker("sampled") is None or place[0] % ONE_IN == 0

    left_out = [item for item in items if not runs(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if runs(item)]
