"""Where NVIDIA's compiler is, for tests that ask it: they are skipped where it is not, and fail in CI."""
import os
import pathlib

import pytest

ENGINES = pathlib.Path(__file__).resolve().parents[2] / ".deps/engines/bin/python"
if not ENGINES.exists():
    if os.environ.get("CI"):
        raise RuntimeError("no .deps/engines: scripts/bootstrap --with tensorrt-rtx,openvino makes it")
    pytest.skip("no .deps/engines (scripts/bootstrap --with tensorrt-rtx,openvino): NVIDIA's compiler was not asked", allow_module_level=True)
