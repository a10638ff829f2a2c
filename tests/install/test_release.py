"""scripts/release without its builds (--sources): what it makes, twice the same, and what it refuses. The archives of
programs and the wheel are tried by tests/install/release.sh."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(vernier VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)[1]
SECONDS = 1700000000  # when the commits of these tests were made
WHO = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "Someone"), ("EMAIL", "someone@example.org"), ("DATE", f"{SECONDS} +0000"))}

sys.path.insert(0, str(ROOT / "scripts/lib/release"))
import components  # noqa: E402


def git(folder, *command):
    subprocess.run(["git", "-c", "init.defaultBranch=main", *command], cwd=folder, check=True, capture_output=True,
                   env=os.environ | WHO)


def checkout(folder):
    """A repository with one commit: the sources as they are here, and a changelog as a release has it, with nothing
    unreleased. What bootstrap made is used from here."""
    unversioned = shutil.ignore_patterns(".git", ".deps", "build", "__pycache__")
    shutil.copytree(ROOT, folder, symlinks=True, ignore=unversioned)
    (folder / ".deps").symlink_to((ROOT / ".deps").resolve())
    changes = folder / "CHANGELOG.md"
    text = changes.read_text(encoding="utf-8")
    changes.write_text(re.sub(r"^## Unreleased\n.*?(?=^## )", "", text, count=1, flags=re.M | re.S), encoding="utf-8")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "All of it")
    return folder


def release(folder):
    return subprocess.run(["scripts/release", "--sources"], cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = checkout(tmp_path_factory.mktemp("one") / "vernier")
    done = release(folder)
    assert done.returncode == 0, done.stderr
    return folder / "build/release-files"


@pytest.fixture
def own(tmp_path):
    return checkout(tmp_path / "vernier")


@pytest.mark.sampled
def test_the_same_commit_gives_the_same_bytes_in_another_folder(made, tmp_path):
    other = checkout(tmp_path / "a folder of another name")
    os.utime(other / "CMakeLists.txt", (1, 1))
    assert release(other).returncode == 0
    sums = (made / "SHA256SUMS").read_text(encoding="utf-8")
    assert sums == (other / "build/release-files/SHA256SUMS").read_text(encoding="utf-8")
    assert sorted(line.split("  ")[1] for line in sums.splitlines()) == [f"vernier-{VERSION}.cdx.json",
                                                                         f"vernier-{VERSION}.tar.gz"]
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=made, check=True, capture_output=True)


def test_the_sources_are_the_commit(made):
    with tarfile.open(made / f"vernier-{VERSION}.tar.gz") as archive:
        members = archive.getmembers()
    assert {member.mtime for member in members} == {SECONDS}
    names = {member.name for member in members if not member.isdir()}
    tracked = subprocess.run(["git", "ls-files"], cwd=made.parents[1], check=True, capture_output=True, text=True).stdout
    assert names == {f"vernier-{VERSION}/{name}" for name in tracked.splitlines()}


def test_the_bill_names_versions_origins_and_licences(made):
    bill = json.loads((made / f"vernier-{VERSION}.cdx.json").read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert bill["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    assert bill["metadata"]["component"]["version"] == VERSION
    parts = {part["name"]: part for part in bill["components"]}
    assert set(bill["dependencies"][0]["dependsOn"]) == set(parts)
    for name, part in parts.items():
        assert part["licenses"], name
        assert name == "robin-map" or part["version"][0].isdigit() and part["purl"].startswith("pkg:"), name
    assert parts["ONNX"]["purl"].startswith("pkg:pypi/onnx@")
    assert len(parts["ONNX"]["hashes"][0]["content"]) == 64


def test_every_part_comes_with_the_text_of_its_licence():
    assert all(len(part.text) > 500 for part in components.components())


def test_a_library_that_nobody_knows_is_no_part_of_a_release():
    components.components(["libfmt.so.9", "libzip-1a2b3c4d.so.4.0", "liblzma.so.5"])
    with pytest.raises(AssertionError, match="libnew"):
        components.components(["libfmt.so.9", "libnew.so.1"])


def test_the_documents_say_the_same_parts_and_licences():
    text = (ROOT / "docs/contributing/dependencies.md").read_text(encoding="utf-8")
    table = text.split("## In the program and the library", 1)[1].split("\n\n- ", 1)[0]
    told = {re.sub(r" \(.*\)", "", cells[1].strip()): cells[3].strip()
            for cells in (line.split("|") for line in table.splitlines() if line.startswith("| "))}
    told.pop("what")
    rows = {row["name"]: row["licence"] for row in components.rows()}
    assert {name: rows.get(name) for name in told} == told
    for name in rows:
        assert name in text, f"docs/contributing/dependencies.md does not speak of {name}"


def refused(folder, *words):
    done = release(folder)
    assert done.returncode == 3, done.stderr
    for word in words:
        assert word in done.stderr
    assert not (folder / "build").exists()


def test_a_changed_file_is_refused(own):
    (own / "README.md").write_text("changed", encoding="utf-8")
    (own / "new.txt").write_text("new", encoding="utf-8")
    refused(own, "not what was committed", " M README.md", "?? new.txt", "hint:")


def test_a_version_without_a_dated_section_is_refused(own):
    changes = own / "CHANGELOG.md"
    changes.write_text(re.sub(rf"^## {VERSION} \(.*$", "## Unreleased", changes.read_text(encoding="utf-8"), flags=re.M),
                       encoding="utf-8")
    git(own, "commit", "--quiet", "--all", "--message", "Not yet")
    refused(own, f"no dated section of {VERSION}", f"hint: ## {VERSION} (")


def test_changes_that_no_version_has_are_refused(own):
    changes = own / "CHANGELOG.md"
    changes.write_text(changes.read_text(encoding="utf-8").replace("## 0", "## Unreleased\n\n- Something.\n\n## 0", 1),
                       encoding="utf-8")
    git(own, "commit", "--quiet", "--all", "--message", "Something")
    refused(own, f"changes under Unreleased, above {VERSION}")


def test_a_version_that_was_another_commit_is_refused(own):
    git(own, "tag", f"v{VERSION}")
    git(own, "commit", "--quiet", "--allow-empty", "--message", "Later")
    refused(own, f"v{VERSION} is another commit")


def test_a_folder_that_is_no_checkout_is_refused(own):
    shutil.rmtree(own / ".git")
    refused(own, "no checkout of git")


def test_an_option_that_there_is_not():
    done = subprocess.run([ROOT / "scripts/release", "--source"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: scripts/release [--sources]\n")
