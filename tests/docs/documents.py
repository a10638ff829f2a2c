"""Runs what the documents show, and compares or rewrites the output that they show.

    python tests/docs/documents.py --update [FILE ...]      what scripts/update_docs calls

A document's fenced blocks are run in order, in one scratch folder per document in which `examples` and `bench` are the repository's
and `vernier` and `python` are on the path. What a block is says its language:

    console   '$ ' starts a command (a backslash continues it), the lines below it are its output, stdout and stderr
              together without progress. A line '...' stands for any lines left out.
    sh        commands whose output is not shown; each block must succeed
    python    a program; it must succeed

Lines above a block may say more of it. Blocks of other languages are text.

    <!-- not run: REASON -->        it cannot be run
    <!-- with NAME=FILE ... -->     the names that the block uses, for which a reader has files of his own, are these files of the
                                    repository, in this and all later blocks
    <!-- exit code 1: REASON -->    of an sh block: 1 is an answer, not a failure

Two outputs are equal when their words are, and their numbers within TOLERANCE. Seconds, latencies, hashes and machines
differ from run to run and are not compared.
"""
import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("VERNIER_PROGRAM", ROOT / "build/release/apps/vernier/vernier")).resolve()
SECONDS = 300  # for one block
TOLERANCE = 0.2 + 1e-9  # dB, and per cent, of which one of 500 samples is as much: ONNX Runtime's kernels differ in the last bits between machines
RELATIVE = 0.025  # of counts and of errors, for the same reason
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("examples/*/README.md"))]
RUNNABLE = ("console", "sh", "python")

MARK = "\x1e"  # ends the output of one command; no document holds it
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?|inf\b)")


@dataclass
class Block:
    language: str
    line: int  # of its first line inside the fence, from 0
    lines: list = field(default_factory=list)
    not_run: str = ""
    files: dict = field(default_factory=dict)  # name -> file of the repository
    answers: tuple = (0,)  # exit codes that are none of a failure


def block_below(lines, language):
    """The block whose fence stands below `lines`, with what those right above it say."""
    block = Block(language, len(lines) + 1)
    for line in reversed(lines):
        if match := re.fullmatch(r"<!-- not run: (.+) -->", line):
            block.not_run = match.group(1)
        elif match := re.fullmatch(r"<!-- with ((?:\S+=\S+ )+)-->", line):
            block.files = dict(pair.split("=", 1) for pair in match.group(1).split())
        elif re.fullmatch(r"<!-- exit code 1: (.+) -->", line):
            block.answers = (0, 1)
        else:
            break
    return block


def blocks_of(text):
    blocks, block = [], None
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if block is not None:
            if line.startswith("```"):
                blocks.append(block)
                block = None
            else:
                block.lines.append(line)
        elif match := re.fullmatch(r"```(\w*)", line):
            block = block_below(lines[:number], match.group(1))
        else:
            assert not line.lstrip().startswith("```"), f"line {number + 1}: an indented block would not be run"
    assert block is None, f"a block that starts in line {block.line} does not end"
    return blocks


def commands_of(block):
    """[(command, [lines of output])] of a console block."""
    commands, continued = [], False
    for line in block.lines:
        if continued:
            commands[-1][0] += "\n" + line
        elif line.startswith("$ "):
            commands.append([line[2:], []])
        else:
            assert commands, f"output before a command: {line}"
            commands[-1][1].append(line)
        continued = line.endswith("\\") and (continued or line.startswith("$ "))
    return commands


class Folder:
    """The scratch folder of one document."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        for shared in ("examples", "bench"):
            (self.path / shared).symlink_to(ROOT / shared)
        programs = [str(PROGRAM.parent), str(pathlib.Path(sys.executable).parent)]
        self.environment = {**os.environ, "PATH": ":".join([*programs, os.environ["PATH"]]), "LC_ALL": "C.UTF-8",
                            "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "100", "XDG_CACHE_HOME": str(self.path / ".cache")}

    def add(self, files):
        for name, file in files.items():
            assert (ROOT / file).is_file(), f"no file {file}"
            (self.path / name).symlink_to(ROOT / file)

    def run(self, arguments):
        return subprocess.run(arguments, cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)

    def outputs(self, commands):
        """What each command of a console block prints, without progress."""
        # One shell for the block, so that `echo $?` and variables work; the mark keeps the exit code of the command.
        script = "".join(f"{command}\n(code=$?; printf '{MARK}'; exit $code)\n" for command, _ in commands)
        result = self.run(["bash", "-c", script])
        parts = result.stdout.split(MARK)
        assert len(parts) == len(commands) + 1, f"{commands[-1][0]}: the shell ended early:\n{result.stdout}"
        for (command, _), part in zip(commands, parts):
            assert part.strip() or "| grep" not in command, f"{command}: grep found nothing"
        return [[line for line in part.splitlines() if not line.startswith("progress: ")] for part in parts[:-1]]


def program_of(block):
    text = "\n".join(block.lines)
    if block.language == "python":
        return [sys.executable, "-c", text]
    others = "".join(f" && code != {code}" for code in block.answers)
    return ["bash", "-uc", f"trap 'code=$?; ((1{others})) && exit $code' ERR\n{text}"]


def stable(text):
    """Without hashes, runners' times and run times."""
    text = re.sub(r"sha256 \w+", "sha256", text)
    text = re.sub(r"in [\d.]+ ms \| Average inference time: [\d.]+ ms", "in TIME", text)
    text = re.sub(r"\bin [\d.]+ s\b", "in TIME", text)
    return re.sub(r"\d\d/\d\d/\d\d-\d\d:\d\d:\d\d", "NOW", re.sub(r"Runtime: [\d.]+s", "Runtime", text))


def skeleton(line):
    """A line without what may differ: where a chunk of shown output begins and ends is found by it."""
    return " ".join(NUMBER.sub("#", stable(line)).split())


def chunks_of(shown):
    chunks = [[]]
    for line in shown:
        if line.strip() == "...":
            chunks.append([])
        else:
            chunks[-1].append(line)
    return chunks


def find_line(wanted, actual, start):
    for number in range(start, len(actual)):
        if skeleton(actual[number]) == skeleton(wanted):
            return number
    raise AssertionError(f"no line like this in the output:\n{wanted}\n-- the output\n" + "\n".join(actual))


def trimmed(shown, actual):
    """The actual output, cut where the shown one is cut."""
    chunks = chunks_of(shown)
    if len(chunks) == 1:
        return actual
    result, at = [], 0
    for number, chunk in enumerate(chunks):
        if number:
            result.append("...")
        if not chunk:
            assert number in (0, len(chunks) - 1), "two lines '...' in a row"
            continue
        first = 0 if number == 0 else find_line(chunk[0], actual, at)
        last = first
        if number == len(chunks) - 1:
            last = len(actual) - 1
        elif len(chunk) > 1:
            last = find_line(chunk[-1], actual, first + 1)
        result += actual[first:last + 1]
        at = last + 1
    return result


def without_times(lines):
    """Drops what differs from run to run: the Time paragraph and the rows of the latency table."""
    kept, inside = [], ""
    for line in lines:
        if inside == "Time" and not line.startswith(" "):
            inside = ""
        if inside == "Latency" and not line.strip():
            inside = ""
        if line.startswith("Time "):
            inside = "Time"
        elif line.startswith("Latency of "):
            inside = "Latency"
        if not inside:
            kept.append(line)
    return kept


def differences(shown, actual):
    """One line for each word or number that differs; none when the outputs are equal."""
    words_shown, words_actual = (" ".join(without_times(lines)) for lines in (shown, actual))
    a, b = skeleton(words_shown).split(), skeleton(words_actual).split()
    if a != b:
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        return [f"shown: {' '.join(a[max(0, at - 6):at + 6])}", f"now:   {' '.join(b[max(0, at - 6):at + 6])}"]
    numbers = [[float(m.group().replace(",", "")) for m in NUMBER.finditer(stable(text))]
               for text in (words_shown, words_actual)]
    return [f"shown {x:g}, now {y:g}" for x, y in zip(*numbers)
            if x != y and not abs(x - y) <= max(TOLERANCE, RELATIVE * abs(x))]


def run_document(path, folder):
    """Runs all blocks; yields (block, command, shown, actual) of each command of a console block."""
    text = path.read_text(encoding="utf-8")
    place = Folder(folder)
    for block in blocks_of(text):
        if block.not_run or block.language not in RUNNABLE:
            continue
        place.add(block.files)
        if block.language == "console":
            commands = commands_of(block)
            for (command, shown), output in zip(commands, place.outputs(commands)):
                yield block, command, shown, trimmed(shown, output)
        else:
            result = place.run(program_of(block))
            assert result.returncode in block.answers, f"{path.name}:{block.line}: exit code {result.returncode}\n{result.stdout}"


def update(path, folder):
    """Writes the output of today into the document."""
    lines = path.read_text(encoding="utf-8").splitlines()
    new = {}
    for block, command, _, actual in run_document(path, folder):
        new.setdefault(block.line, (block, []))[1].extend([*("$ " + command).split("\n"), *actual])
    for start, (block, content) in sorted(new.items(), reverse=True):
        lines[start:start + len(block.lines)] = content
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    import tempfile
    arguments = sys.argv[1:]
    if arguments[:1] != ["--update"]:
        sys.exit("usage: documents.py --update [FILE ...]")
    for path in [pathlib.Path(a).resolve() for a in arguments[1:]] or DOCUMENTS:
        with tempfile.TemporaryDirectory() as folder:
            update(path, folder)
        print(f"updated {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
