"""Measures cutting, cleaning and looking at models, and writes docs/records/models.md.

    python bench/models.py --program build/release/apps/vernier/vernier --shared ../shared --inputs DIR \
        --onnxsim PYTHON --polygraphy PYTHON --work DIR

--inputs: NETWORK.npz, as bench/run makes them. --onnxsim and --polygraphy: Pythons whose environments have these; what is
not given is left out of the tables. --work: a folder that takes 1 GB.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import time

from paragraph import filled, headed

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/records/models.md"
FOLDED = ["ppocr-en-rec", "yolox-nano", "stories260k"]
SIMPLIFY = """
import sys, time, onnx, onnxsim
start = time.process_time()
model = onnx.load(sys.argv[1])
done, _ = onnxsim.simplify(model, perform_optimization=sys.argv[3] == "full")
onnx.save(done, sys.argv[2])
print(len(done.graph.node), time.process_time() - start)
"""
CHECK = """
import sys, onnx
open("calls", "a").write("call\\n")
names = {node.name for node in onnx.load(sys.argv[1]).graph.node}
sys.exit(1 if set(sys.argv[2:]) <= names else 0)
"""


def timed(command, **how):
    """Seconds on the clock, CPU seconds, peak MB and stdout of a command that must succeed."""
    done = subprocess.run(["/usr/bin/time", "-f", "%e %U %S %M", *map(str, command)], capture_output=True, text=True, check=True, **how)
    seconds, user, system, kilobytes = map(float, done.stderr.strip().splitlines()[-1].split())
    return seconds, user + system, kilobytes / 1024, done.stdout


def nodes_of(python, path):
    """Nodes of the main graph, counted by the onnx package."""
    code = "import sys, onnx; print(len(onnx.load(sys.argv[1]).graph.node))"
    return int(subprocess.run([python, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout)


def versions(options):
    """Of the peers and of what they read models with."""
    code = "import sys; from importlib.metadata import version; print(', '.join(f'{name} {version(name)}' for name in sys.argv[1:]))"
    return ", ".join(subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=True).stdout.strip()
                     for python, names in ((options.onnxsim, ["onnxsim", "onnx"]), (options.polygraphy, ["polygraphy"])) if python)


def sanitize_rows(options):
    rows = []
    for network in FOLDED:
        model = options.shared / "models" / network / "model.onnx"
        for flag, mode in (("--fold-constants", "skip"), ("--simplify", "full")):
            ours = options.work / f"{network}-{mode}.onnx"
            command = [options.program, "surgeon", "sanitize", model, flag, "-o", ours, "--data", options.inputs / f"{network}.npz",
                       "--samples", "1"]
            runs = [timed(command) for _ in range(options.rounds)]
            said = re.findall(r"outputs are bit-identical[^,]*|at most [^,]* off, [^,]* dB", runs[0][3])
            output = options.work / "onnxsim.onnx"
            theirs = [timed([options.onnxsim, "-c", SIMPLIFY, model, output, mode]) for _ in range(options.rounds)]
            rows.append((network, flag, nodes_of(options.onnxsim, ours), nodes_of(options.onnxsim, output),
                         statistics.median(run[1] for run in runs), statistics.median(run[1] for run in theirs),
                         statistics.median(float(run[3].split()[-1]) for run in theirs),
                         "; ".join(said)))
    return rows


def reduce_rows(options):
    model = options.shared / "models" / "yolox-nano" / "model.onnx"
    case = options.work / "case.onnx"
    seconds, _, _, text = timed([options.program, "debug", "reduce", model, "-o", case, "--check-sim", "int8", "--min-sqnr", "15", "--data",
                              options.inputs / "yolox-nano.npz", "--json", "-q"])
    report = json.loads(text)
    text = subprocess.run([options.program, "debug", "reduce", model, "-o", case, "--check-sim", "int8", "--min-sqnr", "15", "--data",
                           options.inputs / "yolox-nano.npz"], capture_output=True, text=True, check=True).stderr
    to_minimal = max(int(number) for number in re.findall(r"^check (\d+) \| (?!shrink)", text, re.MULTILINE))
    cut = max(int(number) for number in re.findall(r"^check (\d+) \| (?:outputs|inputs)", text, re.MULTILINE))
    names = [node.rsplit(" (", 1)[0] for node in report["nodes"]]
    folder = options.work / "peer"
    folder.mkdir(exist_ok=True)
    (folder / "check.py").write_text(CHECK, encoding="utf8")
    (folder / "calls").unlink(missing_ok=True)
    polygraphy = pathlib.Path(options.polygraphy)
    subprocess.run([polygraphy.parent / "polygraphy", "debug", "reduce", model, "-o", "peer.onnx", "--check", polygraphy, "check.py",
                    "polygraphy_debug.onnx", *names], cwd=folder, capture_output=True, check=True)
    calls = len((folder / "calls").read_text(encoding="utf8").splitlines())
    # The same check for both, which leaves ours nothing to look at but its verdicts.
    same = subprocess.run([options.program, "debug", "reduce", model, "-o", "ours.onnx", "--json", "-q", "--hide-fail-output", "--check",
                           polygraphy, "check.py", "polygraphy_debug.onnx", *names], cwd=folder, capture_output=True, text=True, check=True)
    return seconds, report, cut, to_minimal, calls, nodes_of(polygraphy, folder / "peer.onnx"), json.loads(same.stdout)


def write_big_model(python, path):
    """100,000 nodes, 1 GB of weights beside the file."""
    code = pathlib.Path(__file__).with_name("big_model.py")
    subprocess.run([python, code, str(path)], check=True, capture_output=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "shared", "inputs", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--onnxsim", required=True)
    parser.add_argument("--polygraphy", required=True)
    parser.add_argument("--output", type=pathlib.Path, default=PAGE)
    options = parser.parse_args()
    for name in ("program", "shared", "inputs", "work"):
        setattr(options, name, getattr(options, name).resolve())
    # Not resolve(): an environment's Python is a link out of it.
    options.onnxsim = os.path.abspath(options.onnxsim)
    options.polygraphy = os.path.abspath(options.polygraphy)
    options.work.mkdir(exist_ok=True, parents=True)
    big = options.work / "big.onnx"
    if not big.exists():
        write_big_model(options.onnxsim, big)
    lines = [*headed("Cutting, cleaning and inspecting models", PAGE),
             filled("For users of onnxsim and Polygraphy: `surgeon sanitize`, `debug reduce` and `inspect model`, compared."), "",
             filled(f"Made by `bench/models.py`, {time.strftime('%Y-%m-%d', time.gmtime())}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f} at the start; {versions(options)}. "
                    f"CPU seconds, median of {options.rounds}, because other work disturbs them least."), "",
             "## sanitize and onnxsim", "",
             filled("Whole commands: reading, editing, writing. Ours also runs the original and the result on one sample and compares them. onnxsim is the Python process that loads, "
                    "simplifies and saves; in parentheses without start and imports."), "",
             "| network | ours | nodes | onnxsim | CPU seconds | onnxsim | outputs of ours, against the original |", "|---|---|---|---|---|---|---|"]
    for network, flag, ours, theirs, seconds, their_seconds, alone, said in sanitize_rows(options):
        lines.append(f"| {network} | `{flag}` | {ours} | {theirs} | {seconds:.2f} | {their_seconds:.2f} ({alone:.2f}) | {said} |")
    seconds, report, cut, to_minimal, calls, left, same = reduce_rows(options)
    lines += ["", "## debug reduce", "",
              filled("`debug reduce yolox-nano --check-sim int8 --min-sqnr 15`, 20 photos. Polygraphy's `debug reduce` needs an outside check: it got one that is bad as long as all "
                     "nodes of our result exist."), "",
              "| | ours | Polygraphy |", "|---|---|---|",
              f"| seconds, shrinking included | {seconds:.1f} | not compared: another check |",
              f"| checks to the shortest beginning and end that fails | {cut} | {calls} |",
              f"| checks until each node is shown to be needed | {to_minimal} | not done |",
              f"| the peer's check in both, `--mode bisect`: checks | {same['checks']} | {calls} |",
              f"| nodes left by it | {same['nodes_after']} | {left} |",
              f"| nodes left, of {report['nodes_before']} | {report['nodes_after']}, 1-minimal | {left}, not minimal |",
              f"| checks for smaller dimensions | {report['checks'] - to_minimal} | |"]
    lines += ["", filled("- Both counts start with the whole model. Ours are two: the comparison in lock-step and the errors of single layers, which save most cuts."),
              filled("- Half of Polygraphy's checks or less find the shortest beginning and end. Three more prove that no node can go."),
              filled("- With an outside check, ours has only verdicts, and needs no fewer checks than Polygraphy.")]
    seconds, cpu, megabytes, _ = timed([options.program, "inspect", "model", big])
    lines += ["", "## inspect model", "", "100,000 nodes, 1 GB of weights in a file of their own (`bench/big_model.py`).", "",
              "| | asked | measured |", "|---|---|---|", f"| seconds on the clock | 3 | {seconds:.2f} |", f"| CPU seconds | | {cpu:.2f} |", f"| MB at the peak | 300 | {megabytes:.0f} |", ""]
    options.output.write_text("\n".join(lines), encoding="utf8")


if __name__ == "__main__":
    main()
