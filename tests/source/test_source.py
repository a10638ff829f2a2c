"""Holds the sources to what the project says of them."""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_sources_are_formatted():
    run("scripts/format", "--check")


def test_folders_include_what_they_name_and_nothing_else():
    run(sys.executable, "scripts/lib/folders.py")


def test_sources_include_what_they_use():
    run(sys.executable, "scripts/lib/includes.py")


def test_public_headers_compile_in_any_order(tmp_path):
    headers = sorted(str(path.relative_to(ROOT / "include")) for path in (ROOT / "include").rglob("*.h"))
    assert headers
    for name, order in ("forward.cpp", headers), ("backward.cpp", headers[::-1]):
        (tmp_path / name).write_text("".join(f"#include <{header}>\n" for header in order), encoding="utf-8")
        run("c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include", tmp_path / name)


def test_each_kind_of_defect_has_an_entry_in_help_and_reference():
    kinds = set()
    for folder in "src/plan", "src/jobs/debug", "src/jobs/verify":
        for path in (ROOT / folder).glob("*.cpp"):
            text = path.read_text(encoding="utf-8")
            if re.search(r"FoundDefect|QdqDefect", text):  # a note has values in braces behind its name
                kinds.update(re.findall(r'(?:\{|\badd\w*\()\s*"([a-z]+(?:-[a-z]+)+)",\s*[^{}\s"]', text))
                for either in re.findall(r'FoundDefect\{\w+ \? "([a-z-]+)" : "([a-z-]+)"', text):
                    kinds.update(either)
    assert len(kinds) > 15 and {"other-scale", "hidden-part", "wrong-axis", "lost-pair"} <= kinds, kinds
    for page in "apps/vernier/commands/finding_names.cpp", "docs/reference/defects.md":
        text = (ROOT / page).read_text(encoding="utf-8")
        assert not {kind for kind in kinds if f'"{kind}"' not in text}, page


def test_the_architecture_has_a_line_for_each_folder():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = text.split("| folder | does |", 1)[1].split("\n\n", 1)[0]
    named = set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))
    folders = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "src").rglob("CMakeLists.txt")} - {"src"}
    assert {name for name in named if name.startswith("src/")} == folders


def test_every_place_that_names_the_version_names_the_same():
    """Its home is CMakeLists.txt; pyproject.toml reads it there."""
    version = re.search(r"^project\(vernier VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)[1]
    changes = re.findall(r"^## (.*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    released = [title for title in changes if title != "Unreleased"]
    assert re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", released[0]), released[0]
    places = [path for folder in ("src", "include", "apps", "python", "tests/golden", "tests/unit")
              for path in (ROOT / folder).rglob("*")
              if path.suffix in (".h", ".cpp", ".py", ".md", ".txt", ".html") and "former" not in path.parts]
    named = [(path, found) for path in places for found in re.findall(
        r'(?:\bvernier |vernier_version = "|vernier.version +"|s version: ")(\d+\.\d+\.\d+)', path.read_text(encoding="utf-8"))]
    assert len(named) > 7
    assert {found for _, found in named} == {version}, [(str(path), found) for path, found in named if found != version]
    for page in "docs/install.md", "docs/contributing/release.md":
        text = (ROOT / page).read_text(encoding="utf-8")
        assert set(re.findall(r"vernier-(\d+\.\d+\.\d+)|\bv(\d+\.\d+\.\d+)", text)) <= {(version, ""), ("", version)}, page
    consumer = (ROOT / "tests/install/consumer/CMakeLists.txt").read_text(encoding="utf-8")
    assert f"find_package(vernier {version.rpartition('.')[0]} REQUIRED)" in consumer
    if program := os.environ.get("VERNIER_PROGRAM"):
        said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
        assert said == f"vernier {version}\n"


def test_public_headers_include_only_the_standard_library_and_each_other():
    for path in (ROOT / "include").rglob("*.h"):
        for included in re.findall(r"^#include [<\"]([^>\"]+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert included.startswith("vernier/") or "/" not in included and "." not in included, f"{path}: {included}"


def test_the_library_changes_nothing_that_the_process_owns():
    """Its streams, signals, environment, folder, locale, rounding mode: another thread's job or its caller would feel it."""
    of_the_process = re.compile(r"\bstd::c(out|err|log|in)\b|\bstd(out|err)\b|"
                                r"(?:^|[ (])(std::|::)?(setenv|putenv|unsetenv|chdir|umask|setlocale|freopen|dup2|sigaction|"
                                r"atexit|fesetround|set_terminate|exit|abort)\(|::signal\(|locale::global")
    # The copies that process_copy.cpp makes of the process are its own.
    sources = [path for path in (ROOT / "src").rglob("*.[ch]*") if path.name != "process_copy.cpp"]
    assert sources
    found = [f"{path.relative_to(ROOT)}:{at}: {line}" for path in sources
             for at, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
             if of_the_process.search(line.split("//")[0])]
    assert not found, "\n".join(found)


# Literals of src/ that may hold options with their dashes, by a part of each: why.
OF_OTHER_PROGRAMS = {
    "src/engines/hosts/engine_host.cpp": ["--plugins", "--no-deps"],  # our host program's, pip's
    "src/engines/hosts/kernels.cpp": ["trtexec --exportLayerInfo"],
    "src/io/open_runs.cpp": ["polygraphy run"],
    "src/jobs/eval/pipeline.cpp": ["polygraphy run"],
    # Of NVRTC.
    "src/engines/cuda/compiler.cpp": ["--gpu-architecture", "--fmad", "--std"],
    # Keys in journals of users, which stay as they are.
    "src/jobs/search/chosen_objective.cpp": ["--check"],
    "src/jobs/search/label_objective.cpp": ["--label-offset", "--min-top"],
    "src/jobs/search/metric_objective.cpp": ["--metric-script"],
    "src/jobs/scripting/templates.cpp": ["#   vernier "],  # files for those who use the command
}


def texts_of(path):
    """The literals of a source; those that stand beside each other are one."""
    token = re.compile(r"""//[^\n]*|R"\((.*?)\)"|"((?:[^"\\\n]|\\.)*)"|'(?:[^'\\\n]|\\.)+'|\s+|.""", re.DOTALL)
    texts, adjacent = [], False
    for found in token.finditer(path.read_text(encoding="utf-8")):
        if found[0].startswith('"'):
            texts.append((texts.pop() if adjacent else "") + found[2])
        adjacent = found[0].startswith('"') or adjacent and (found[0].isspace() or found[0].startswith("//"))
    return texts


def test_the_library_names_arguments_and_not_options():
    """Python and C++ know no --option: texts mark what they name (vernier/marks.h), and the command adds the dashes.
    What src/report writes is for the command."""
    found, needed = [], set()
    for path in sorted((ROOT / "src").rglob("*.[ch]*")):
        name = str(path.relative_to(ROOT))
        if path.suffix not in (".cpp", ".h") or name.startswith("src/report/"):
            continue
        for text in texts_of(path):
            if re.search(r"(?<![\w-])--[a-z]", re.sub("‹[^‹›]*›", "", text)):
                excused = [part for part in OF_OTHER_PROGRAMS.get(name, []) if part in text]
                needed.update((name, part) for part in excused)
                found += [] if excused else [f"{name}: {text}"]
    assert not found, "\n".join(found)
    assert needed == {(name, part) for name, parts in OF_OTHER_PROGRAMS.items() for part in parts}


# Literals that are no prose of ours, by file: identifiers, other programs' words, and forms of a text, not its meaning.
NO_PROSE = {
    "src/report/text/sections.cpp": ["trt-sim"],  # a runner's name
    "src/report/text/doctor_text.cpp": ["TensorRT"],  # an engine's own name
    "src/report/text/bench_text.cpp": [" on "],  # what an engine is called, cut before its device
    # A command line is repeated with another option, which the row of the option has to name.
    "src/report/text/alternatives_text.cpp": ["--output="],
    "src/report/text/commands.cpp": ["--"],
    "src/report/html/page.cpp": ["{{", "}}"],  # the template
    "src/report/export/deploy.cpp": ["```"],  # a block of code in Markdown
    "src/report/html/words.cpp": [". "],  # the first sentence stands apart
    "src/jobs/common/lint.cpp": ["ai.onnx", "(op_type:", "(", "Inferred shape and existing shape differ"],  # messages of onnx and ONNX Runtime
    "src/jobs/inspect/check_placement.cpp": ["QuantizeLinear"],
    # Names of options, and a function that the written script calls.
    "src/jobs/scripting/trt_templates.cpp": ["strongly-typed", "onnx-flags", "plugin-instancenorm", "tensors_of("],
    "src/jobs/common/load.cpp": ["present."],  # names of tensors
    "src/jobs/inspect/draw.cpp": ["<svg"],  # what Graphviz writes
    "src/jobs/verify/stored_values.cpp": ["/unrounded"],  # a tensor's name
}


def test_nothing_is_decided_by_prose():
    """What a sentence says stands in a type beside it: who rewords a sentence changes no behaviour."""
    search = re.compile(r'\b(?:find|rfind|starts_with|ends_with|contains)\("((?:[^"\\]|\\.)*)"')
    found = set()
    for folder in ("src/report/text", "src/report/export", "src/report/html", "src/jobs"):
        for path in (ROOT / folder).rglob("*.[ch]*"):
            name = str(path.relative_to(ROOT))
            # Keys of documents are lower-case words.
            found |= {(name, text) for text in search.findall(path.read_text(encoding="utf-8")) if not re.fullmatch(r"[a-z_0-9]*", text)}
    assert found == {(name, text) for name, texts in NO_PROSE.items() for text in texts}


NO_NOTES = {"weakly-typed", "calibration-unrepresentative", "amplified-values"}  # a setting of an engine's builder, causes


def test_each_note_has_a_sentence():
    """A note is a code and fields (vernier/note.h). Its sentence is in the catalogue, and names fields that the note has."""
    text = r'"((?:[^"\\]|\\.)*)"\s*'
    entries = re.findall(rf'\{{"([a-z0-9-]+)",\s*((?:{text.replace("(", "(?:", 1)})+)\}}',
                         (ROOT / "src/report/text/note_catalogue.cpp").read_text(encoding="utf-8"))
    catalogue = {code: "".join(re.findall(text, sentence)) for code, sentence in entries}
    fields, added = {}, set()
    for path in [path for folder in ("src", "apps") for path in (ROOT / folder).rglob("*.[ch]*")]:
        source = path.read_text(encoding="utf-8")
        added.update(re.findall(r'fields\.emplace_back\("(\w+)"', source))
        for code in re.findall(r'(?:\{|kRandomInputs = )"([a-z0-9]+(?:-[a-z0-9]+)+)"(?:,\s*\{[{}]|;)', source):
            fields.setdefault(code, set()).update(re.findall(r'\{"(\w+)",', source))
    assert set(fields) - NO_NOTES == set(catalogue)
    for code, sentence in catalogue.items():
        named = set(re.findall(r"\{(\w+)[:}]", sentence))
        assert named <= fields[code] | added, (code, named - fields[code])


def test_kernel_times_are_those_measured():
    measured = json.loads((ROOT / "bench/results/kernel_times.json").read_text(encoding="utf-8"))["rows"]
    text = (ROOT / "src/plan/kernel_times.cpp").read_text(encoding="utf-8")
    table = re.findall(r'Row\{\s*"([^"]+)",\s*\{([^}]+)\},\s*\{([^}]+)\}\}', text)
    assert sorted(kind for kind, *_ in table) == sorted(measured)
    for kind, in_float, on_codes in table:
        for name, numbers in (("float", in_float), ("codes", on_codes)):
            assert [float(number) for number in numbers.split(",")] == measured[kind].get(name, [0, 0, 0, 0]), kind


def test_no_two_types_have_one_name():
    """Types of one name in one namespace are one type to the linker, whatever folders they stand in."""
    found = {}
    for file in [*ROOT.glob("src/**/*.h"), *ROOT.glob("include/**/*.h")]:
        for name in re.findall(r"^(?:struct|class) (\w+)(?: final)?(?: : [^;{]*)? ?\{", file.read_text(), re.MULTILINE):
            found.setdefault(name, set()).add(str(file.relative_to(ROOT)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}
