"""The blocks of docs/guides/python.md and the examples run as they stand."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks_of(name):
    """Without those of torch, which test_torch.py runs."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if "import torch" not in block]


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


def test_no_module_is_imported_for_nothing():
    """torch, onnx, pandas and matplotlib stay out until somebody uses them."""
    program = "import sys, onnx_vernier; print(*sorted({'torch', 'onnx', 'pandas', 'matplotlib', 'onnxruntime'} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == ""
