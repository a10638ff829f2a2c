"""Tries what stands in ci/: the action's step as GitHub would run it, and the hook in a repository of its own.

    python -m pytest tests/cli/test_ci.py --program build/release/apps/vernier/vernier
"""
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CI = ROOT / "ci"
DIGITS = ROOT / "examples" / "digits"


@pytest.fixture
def program(request):
    return str(pathlib.Path(request.config.getoption("--program")).resolve())


@pytest.fixture
def bad_model(tmp_path):
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"no model at all")
    return path


def inputs_of(text):
    """Defaults of the action's inputs, without a parser for YAML: two levels of keys."""
    defaults, name = {}, ""
    for line in text.split("\noutputs:")[0].split("inputs:\n")[1].splitlines():
        if line.startswith("  ") and not line.startswith("   ") and line.endswith(":"):
            name = line.strip()[:-1]
        elif line.strip().startswith("default: "):
            defaults[name] = line.strip()[len("default: "):]
    return defaults


def act(arguments, program, folder):
    """The step, in the environment that GitHub gives it."""
    defaults = inputs_of((CI / "action.yml").read_text())
    assert set(defaults) == {"program", "junit"}
    environment = {**os.environ, "GITHUB_ACTION_PATH": str(CI), "GITHUB_OUTPUT": str(folder / "output"),
                   "GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "VERNIER_PROGRAM": program,
                   "VERNIER_ARGUMENTS": arguments, "VERNIER_JUNIT": defaults["junit"]}
    return subprocess.run(["bash", "-c", '"$GITHUB_ACTION_PATH/run-command"'], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=120)


def test_the_action_passes_and_fails_with_the_command(program, tmp_path, bad_model):
    good = act(f"check lint {DIGITS / 'digits.onnx'}", program, tmp_path)
    assert good.returncode == 0, good.stderr
    assert "exit-code=0" in (tmp_path / "output").read_text()
    assert 'failures="0"' in (tmp_path / "vernier.xml").read_text()
    bad = act(f"check lint {bad_model}", program, tmp_path)
    assert bad.returncode == 1
    assert "::error title=vernier check lint::" in bad.stderr
    assert 'failures="1"' in (tmp_path / "vernier.xml").read_text()
    assert "vernier check lint" in (tmp_path / "summary.md").read_text()


def test_the_action_tells_of_a_command_that_fails(program, tmp_path):
    missing = act("run none.onnx --onnxrt", program, tmp_path)
    assert missing.returncode == 3
    assert 'errors="1"' in (tmp_path / "vernier.xml").read_text()
    assert "exit-code=3" in (tmp_path / "output").read_text()


def test_the_hook_keeps_broken_models_out(program, tmp_path, bad_model):
    repository = tmp_path / "repository"
    repository.mkdir()
    environment = {**os.environ, "VERNIER": program, "GIT_CONFIG_GLOBAL": "/dev/null"}

    def git(*words):
        return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=repository,
                              env=environment, capture_output=True, text=True, timeout=120)

    git("init", "-q")
    (repository / ".git" / "hooks" / "pre-commit").symlink_to(CI / "pre-commit")
    (repository / "model.onnx").write_bytes((DIGITS / "digits.onnx").read_bytes())
    git("add", "model.onnx")
    assert git("commit", "-qm", "good").returncode == 0
    (repository / "model.onnx").write_bytes(bad_model.read_bytes())
    git("add", "model.onnx")
    (repository / "model.onnx").write_bytes((DIGITS / "digits.onnx").read_bytes())  # what is staged counts
    refused = git("commit", "-qm", "bad")
    assert refused.returncode == 1
    assert "model.onnx" in refused.stdout + refused.stderr


def test_the_hook_takes_names_of_files(program, bad_model):
    environment = {**os.environ, "VERNIER": program}
    done = subprocess.run([CI / "pre-commit", str(DIGITS / "digits.onnx"), str(bad_model)], env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
