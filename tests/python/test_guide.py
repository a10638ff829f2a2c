"""The Python of README.md, docs/guides/python.md and the examples runs as it is shown."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks_of(name):
    """Without those of torch, which test_torch.py runs."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if "import torch" not in block]


def test_the_readmes_block_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    (block,) = blocks_of("README.md")
    assert len(block.strip().split("\n")) <= 8
    exec(compile(block, "README.md", "exec"), {})
    shown = re.search(r"kept_layers\) +# (.+)", block)[1]
    assert capsys.readouterr().out == f"{shown}\nTrue\n"
    assert (tmp_path / "typed.onnx").is_file()


def test_blocks_of_the_guide(capsys):
    blocks = blocks_of("docs/guides/python.md") + blocks_of("docs/guides/python-extend.md")
    assert len(blocks) >= 6
    names = {}
    for block in blocks:
        exec(compile(block, "docs/guides/python.md", "exec"), names)  # one after the other, as they are read
    printed = capsys.readouterr().out
    assert printed.startswith("[('second', 'outlier-channels')")
    assert printed.splitlines()[0].endswith("[]") and printed.splitlines()[1] == "True"
    assert len(blocks[0].strip().split("\n")) <= 17  # "fifteen lines" of statements, two imports


def test_no_module_is_imported_for_nothing():
    """torch, onnx, pandas and matplotlib stay out until somebody uses them."""
    program = "import sys, onnx_vernier; print(*sorted({'torch', 'onnx', 'pandas', 'matplotlib', 'onnxruntime'} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == ""
