"""scripts/hooks/commit-msg, which git runs for each commit."""
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOOK = ROOT / "scripts/hooks/commit-msg"
BODY = "\n\nRebuilding took half of the time.\n"


def errors(message, tmp_path):
    (tmp_path / "message").write_text(message, encoding="utf-8")
    done = subprocess.run([HOOK, tmp_path / "message"], capture_output=True, text=True)
    assert done.returncode == (1 if done.stderr else 0), done.stderr
    return done.stderr


@pytest.mark.parametrize("message", [
    "search: skip rebuild for unchanged segments" + BODY,
    "apps/table: add a row" + BODY + "# Please enter the commit message.\n",
    "docs: add a page" + BODY + "# ------------------------ >8 ------------------------\ndiff --git a/x b/x\n",
    "\n# comment\nplan: " + "x" * 50 + " abc" + BODY,
    "Merge branch 'one'\n", 'Revert "search: skip rebuild"\n', "fixup! search: skip rebuild for unchanged segments\n",
])
def test_good_messages_pass(message, tmp_path):
    assert errors(message, tmp_path) == ""


@pytest.mark.parametrize(("message", "fault"), [
    ("Skip rebuilds" + BODY, "not 'area: verb object'"),
    ("search: Skip rebuilds now" + BODY, "not 'area: verb object'"),
    ("search: skip" + BODY, "not 'area: verb object'"),
    ("search: " + "skip " * 12 + "it" + BODY, "has 70 characters, at most 60"),
    ("search: skip rebuilds." + BODY, "ends with a period"),
    ("search: skip rebuilds\nbody at once\n", "line after the subject is not empty"),
    ("search: skip rebuilds\n\n# only comments\n", "no body"),
    ("", "not 'area: verb object'"),
])
def test_bad_messages_fail(message, fault, tmp_path):
    assert fault in errors(message, tmp_path)


def test_git_runs_the_hook(tmp_path):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*arguments):
        return subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments],
                              capture_output=True, text=True, env=clean)

    git("init", "-q")
    git("config", "core.hooksPath", HOOK.parent)
    assert "not 'area: verb object'" in git("commit", "--allow-empty", "-m", "Change things").stderr
    assert git("commit", "--allow-empty", "-m", "search: skip rebuilds now", "-m", "They took long.").returncode == 0
    assert "git config core.hooksPath scripts/hooks" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
