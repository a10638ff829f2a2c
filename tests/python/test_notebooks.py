"""The notebooks of examples/ run from a clean state, in a kernel of their own, and are committed with what they show."""
import importlib.util
import json
import pathlib
import re
import shutil

import onnx_vernier as vernier
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
needs_kernel = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("nbclient", "ipykernel", "matplotlib")),
    reason="nbclient, ipykernel or matplotlib is not installed: notebooks were not run")


def kinds_of(cell):
    """What it shows; the kernel may send one text in two parts."""
    return {(output["output_type"], *sorted(output.get("data", {}))) for output in cell.get("outputs", ())}


def name_of(path):
    return path.stem


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """examples/ elsewhere: what a notebook writes beside itself is seen. Nothing of the user's profile is read."""
    shutil.copytree(ROOT / "examples/notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    shutil.copytree(ROOT / "examples/digits", tmp_path / "digits")
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR", "TMPDIR"):
        (tmp_path / "home" / variable).mkdir(parents=True)
        monkeypatch.setenv(variable, str(tmp_path / "home" / variable))
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(vernier.__file__).parents[1]))  # it may be relative to another folder
    return tmp_path


@pytest.mark.sampled
@needs_kernel
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_runs(path, copies):
    import nbclient
    import nbformat

    before = sorted((copies / "notebooks").iterdir())
    notebook = nbformat.read(copies / "notebooks" / path.name, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3",
                            resources={"metadata": {"path": str(copies / "notebooks")}}).execute()
    stored = nbformat.read(path, as_version=4)
    assert [kinds_of(cell) for cell in stored.cells] == [kinds_of(cell) for cell in notebook.cells], "scripts/update_notebooks stores what it shows"
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in shown if output.output_type == "error"]
    kinds = {kind for output in shown for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= kinds, "no report or no plot was shown"
    texts = "".join(output.get("text", "") for output in shown)
    for failure in ("Traceback", "IProgress", "DeprecationWarning"):
        assert failure not in texts, texts
    assert sorted((copies / "notebooks").iterdir()) == before, "a notebook writes beside itself"


def test_there_are_notebooks():
    assert [path.name for path in NOTEBOOKS] == ["digits.ipynb", "torchvision_like.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_is_committed_as_jupyter_writes_it(path):
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert len(text) < 300_000 and not re.search(r"/(home|root|tmp|work)/", text)
    assert text == json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "not as Jupyter writes it"
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        assert source.strip() and not cell["metadata"]
        if cell["cell_type"] == "code":
            lines = source.splitlines()
            assert len(lines) <= 25 and max(map(len, lines)) <= 105, source
            assert not re.search(r"\bimport torch\b", source), source
