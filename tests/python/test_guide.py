"""The blocks of docs/guides/python.md and the examples run as they stand."""
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks_of(name):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.DOTALL | re.MULTILINE)


def test_the_readme_shows_the_guides_first_block():
    assert blocks_of("README.md") == blocks_of("docs/guides/python.md")[:1]


def test_blocks_of_the_guide(capsys):
    blocks = blocks_of("docs/guides/python.md")
    assert len(blocks) >= 6
    names = {}
    for block in blocks:
        exec(compile(block, "docs/guides/python.md", "exec"), names)  # one after the other, as they are read
    printed = capsys.readouterr().out
    assert printed.startswith("['second'] ")
    assert "True\n" in printed.split("\n")[0] + "\n"
    assert len(blocks[0].strip().split("\n")) <= 17  # "fifteen lines" of statements, two imports


def test_a_torch_module(images):
    torch = pytest.importorskip("torch", reason="torch is not installed: its modules were not tried")
    import onnx_vernier as vernier

    module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 10))
    model = vernier.Model(module, example_inputs=torch.zeros(1, 3, 8, 8))
    batches = torch.utils.data.DataLoader(torch.tensor(images[:, 0]), batch_size=1)
    report = vernier.diagnose(model, batches, low="int8")
    assert report.samples == len(images)
    assert module.training


def test_no_module_is_imported_for_nothing():
    """torch, onnx, pandas and matplotlib stay out until somebody uses them."""
    program = "import sys, onnx_vernier; print(*sorted({'torch', 'onnx', 'pandas', 'matplotlib', 'onnxruntime'} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == ""
