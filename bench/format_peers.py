"""Formats of today by Vernier, ModelOpt and torchao on trained networks; writes docs/records/formats.md.

    python bench/format_peers.py --torch PYTHON [--program build/release/apps/vernier/vernier] [--only NETWORK ...] [--work FOLDER] [--render]

PYTHON has what bench/format_networks.py needs, which trains the networks and runs the peers; this script runs in the project's
Python. All tools learn from the same calibrating samples, and are measured on the same held-out ones against the float network in ONNX
Runtime. Files run without Vernier: in ONNX Runtime without optimizations, and where that has no kernels in ONNX's reference with
tests/diff/format_oracle.py. Results are merged into bench/results/format_peers.json network by network; --render writes the page
without measuring. --work keeps the trained networks. VERNIER_SHARED names the shared folder.

CPU seconds of Vernier are those of the whole program, those of peers leave out the import of torch and the export of a file.
"""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from compare_fix import accepted_of, run
from held_out import session
from networks import ROOT
from paragraph import filled, headed
from processor import processor

sys.path.insert(0, str(ROOT / "tests/diff"))
import format_oracle  # noqa: E402

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

RESULTS = ROOT / "bench/results/format_peers.json"
PAGE = ROOT / "docs/records/formats.md"
LIMIT = 900
NETWORKS = {"digits-cnn": "top-1", "digits-vit": "top-1", "text-gpt": "perplexity", "stories260k": "perplexity"}
FORMATS = ["int8", "fp8", "nvfp4", "mxfp8", "int4"]
IN_REFERENCE = {"nvfp4", "mxfp8"}  # ONNX Runtime has no kernels
COLUMNS = ["quantize", "fix", "fix, weights", "ModelOpt", "ModelOpt, best", "torchao", "torchao, best"]
PLAIN = {"int8_default", "fp8_default", "nvfp4_default", "mxfp8_default", "int4_blockwise_weight_only", "int8_dynamic_activation",
         "nvfp4_tensors", "mxfp8_tensors", "float8_dynamic_activation", "nvfp4_dynamic_activation", "mx_dynamic_activation", "intx_weight_only"}


def logits_of(file, samples, form):
    runner = format_oracle.reference(file) if form in IN_REFERENCE else session(file)
    return np.concatenate([runner.run(None, {"data": sample})[0] for sample in samples])


class Judge:
    """Of one network: what it gives on the held-out samples, and how far logits are from that."""

    def __init__(self, network, folder):
        self.metric, self.folder = NETWORKS[network], folder
        self.samples, self.labels = (np.load(folder / f"{part}.npy") for part in ("test", "labels"))
        self.reference = logits_of(folder / "float.onnx", self.samples, None)

    def task(self, logits):
        if self.metric == "top-1":
            return round(100 * float((logits.argmax(-1) == self.labels).mean()), 2)
        rows = logits[:, :self.labels.shape[1]].astype(np.float64)
        rows -= rows.max(-1, keepdims=True)
        right = np.take_along_axis(rows, self.labels[..., None], -1)[..., 0] - np.log(np.exp(rows).sum(-1))
        return round(float(np.exp(-right.mean())), 4)

    def __call__(self, logits):
        noise = np.sum((self.reference - logits.astype(np.float64)) ** 2)
        return {"db": round(float(10 * np.log10(np.sum(self.reference.astype(np.float64) ** 2) / noise)), 2), "task": self.task(logits)}


def products_of_activations(file):
    """MatMuls without a constant factor: no peer quantizes them."""
    graph = onnx.load(file).graph
    constant = {i.name for i in graph.initializer}
    made = {output: node for node in graph.node for output in node.output}

    def fixed(name):
        return name in constant or (name in made and all(fixed(i) for i in made[name].input))

    return [node.name for node in graph.node if node.op_type == "MatMul" and not any(fixed(name) for name in node.input)]


def lowered(counts):
    return sum(count for name, count in counts.items() if name != "float32")


def by_vernier(program, judge, form):
    """Column -> its row."""
    folder, rows = judge.folder, {}
    common = [str(folder / "float.onnx"), "--data", str(folder / "calibration.npy"), "--low", {"fp8": "float8e4m3fn"}.get(form, form),
              "--threads", "2", "--json", "-q"]
    report, _, cpu = run([program, "quantize", *common, "-o", str(folder / "typed.onnx")], LIMIT)
    if isinstance(report, str):
        return {"quantize": {"refused": report}}
    if not lowered(report["layers_by_format"]):
        return {"quantize": {"refused": "no layer takes it"}}
    rows["quantize"] = {"layers": lowered(report["layers_by_format"]), "cpu_seconds": cpu,
                        **judge(logits_of(folder / "typed.onnx", judge.samples, form))}
    columns = {"fix": []}
    dynamic = products_of_activations(folder / "float.onnx")
    if dynamic and form in ("int8", "fp8"):
        columns["fix, weights"] = ["--layer-precisions", *(f"{name}:float32" for name in dynamic)]
    for column, words in columns.items():
        shutil.rmtree(folder / "fixed", ignore_errors=True)
        report, _, cpu = run([program, "fix", *common, "--no-cache", "--quick", "-o", str(folder / "fixed"), *words], LIMIT)
        if isinstance(report, str):
            rows[column] = {"refused": report}
            continue
        rows[column] = {"cpu_seconds": cpu, "accepted": accepted_of(report), "layers": report["typed"]["lowered"],
                        **judge(logits_of(folder / "fixed/model.onnx", judge.samples, form))}
    return rows


def by_peers(python, judge, network):
    """The versions, format -> column -> row, and what was refused; of several recipes in a column that with the most decibels."""
    done = subprocess.run([python, str(ROOT / "bench/format_networks.py"), network, str(judge.folder), "--peers"], capture_output=True,
                          text=True, check=True, timeout=4 * LIMIT)
    found, refused = {form: {} for form in FORMATS}, []
    for line in done.stdout.splitlines():
        if not line.startswith("RESULT "):
            continue
        row = json.loads(line[7:])
        form, tool = row.pop("format"), {"modelopt": "ModelOpt", "torchao": "torchao"}[row.pop("tool")]
        if "refused" in row:
            refused.append([f"{tool} {row['recipe']}", row["refused"].rstrip(".")])
            continue
        row |= {"layers": len(row["layers"])} | judge(np.load(judge.folder / f"{tool.lower()}-{row['recipe']}.npy"))
        column = tool if row["recipe"] in PLAIN else f"{tool}, best"
        found[form][column] = max(found[form].get(column, row), row, key=lambda one: one["db"])
    versions = next(json.loads(line[9:]) for line in done.stdout.splitlines() if line.startswith("VERSIONS "))
    return versions, found, refused


def measure(program, python, network, folder):
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([python, str(ROOT / "bench/format_networks.py"), network, str(folder)], check=True, capture_output=True)
    judge = Judge(network, folder)
    versions, forms, refused = by_peers(python, judge, network)
    result = {"metric": judge.metric, "float": judge.task(judge.reference), "calibration": len(np.load(folder / "calibration.npy")),
              "held_out": len(judge.samples), "torch_db": judge(np.load(folder / "torch.npy"))["db"], "formats": forms, "refused": refused}
    for form, rows in forms.items():
        rows |= by_vernier(program, judge, form)
        print(network, form, json.dumps(rows), flush=True)
    return versions, result


def cell(row, text):
    return "" if row is None else "none" if "refused" in row else text(row)


def task_text(metric, value):
    return f"{value:.1f} %" if metric == "top-1" else f"{value:.3f}"


def table(record, text):
    lines = [f"| network | format | {' | '.join(COLUMNS)} |", "|---|---" + "|---:" * len(COLUMNS) + "|"]
    for network, result in record["networks"].items():
        for form, rows in result["formats"].items():
            cells = " | ".join(cell(rows.get(column), lambda row: text(result, row)) for column in COLUMNS)
            lines.append(f"| {network} | {form.upper()} | {cells} |")
    return lines


def against(record, tool, columns):
    """Cells: the tool, in how many rows the first of `columns` that there is has more decibels than its best, and where it has fewer."""
    lost, count = [], 0
    for network, result in record["networks"].items():
        for form, rows in result["formats"].items():
            ours = next((rows[column] for column in columns if "db" in rows.get(column, {})), None)
            theirs = max((rows[name] for name in (tool, f"{tool}, best") if name in rows), key=lambda row: row["db"], default=None)
            if ours is None or theirs is None:
                continue
            count += 1
            if theirs["db"] > ours["db"]:
                layers = "" if theirs["layers"] == ours["layers"] else f" ({theirs['layers']} layers against {ours['layers']})"
                lost.append(f"{network} {form.upper()} {theirs['db'] - ours['db']:.2f} dB{layers}")
    return f"{tool} | {count - len(lost)} of {count} | {', '.join(lost) or 'none'} |"


def losses(record):
    own = [f"{network} {form.upper()} {rows['quantize']['db'] - rows['fix']['db']:.2f} dB" for network, result in record["networks"].items()
           for form, rows in result["formats"].items() if rows.get("fix", {}).get("db", np.inf) < rows["quantize"].get("db", -np.inf)]
    sides = {"fix, weights; fix without such a column": ["fix, weights", "fix"], "fix": ["fix"]}
    return ["<!-- not prose: a list of cells -->", "| side | against the best of | better, rows | lost, rows |", "|---|---|---:|---|",
            *(f"| {side} | {against(record, tool, columns)}" for side, columns in sides.items() for tool in ("ModelOpt", "torchao")),
            f"| fix | quantize | | {', '.join(own) or 'none'} |"]


def refusals(record):
    said = {}
    for network, result in record["networks"].items():
        for recipe, words in result["refused"]:
            said.setdefault((recipe, words), []).append(network)
    return [filled(f"- `{recipe}`, {'all networks' if len(where) == len(record['networks']) else ', '.join(where)}: `{words}`")
            for (recipe, words), where in said.items()]


def page(record):
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    lines = [*headed("Formats compared with other tools", PAGE),
             filled("For readers who ask which tool loses least in INT8, FP8, NVFP4, MXFP8 and INT4, before and after `vernier fix`."), "",
             filled("Made by `bench/format_peers.py --torch PYTHON` from [bench/results/format_peers.json](../../bench/results/format_peers.json). "
                    f"{record['date']}. Machine: {record['machine']}. {versions}."), "",
             "| network | trained | float | calibrating | held out |", "|---|---|---:|---:|---:|"]
    for network, result in record["networks"].items():
        trained = "shared weights" if network == "stories260k" else "by the script"
        lines.append(f"| {network} | {trained} | {result['metric']} {task_text(result['metric'], result['float'])} | {result['calibration']} | "
                     f"{result['held_out']} |")
    lines += ["", filled("- Both sides have the same weights: PyTorch's network and its ONNX export. All figures are of the held-out samples, against the "
                         "float export in ONNX Runtime."),
              filled("- *quantize* and *fix*: `vernier` without a requirement, by TensorRT's rules, minmax ranges. INT8 and FP8 include products of two "
                     "activations in attention. The peers leave these in float, and so does *fix, weights*."),
              filled("- *ModelOpt* and *torchao*: the default recipe. *best*: SmoothQuant for INT8 and AWQ for NVFP4 and INT4, HQQ for INT4. In FP8 it is "
                     "torchao with weights alone."),
              filled("- torchao scales INT8 activations in every run, per row. It quantizes Linear alone, not Conv. Vernier and ModelOpt have "
                     "one calibrated scale for each tensor."),
              filled("- Peers in NVFP4 and MXFP8: their own recipes refuse a CPU. The figures are of their tensors of the format: each input and weight of "
                     "a Linear rounded by them, and multiplied in FP32."),
              filled("- Blocks of INT4: at most 128 inputs, as each tool makes them."),
              filled("- Formats in blocks are for Linear layers alone: NVFP4 with a multiple of 16 inputs, MXFP8 and INT4 with a multiple of 32."),
              "", "## Accuracy", "",
              *table(record, lambda result, row: f"{row['db']:.1f} dB, {task_text(result['metric'], row['task'])}"), "",
              *losses(record), "", *(line for text in record.get("remarks", []) for line in (filled(text), "")),
               "## Layers in low precision, and CPU seconds", "",
              filled("CPU seconds of Vernier are those of the whole program. Those of peers are of quantizing and calibrating alone, without the import of "
                     "torch and without a file."), "",
              *table(record, lambda result, row: f"{row['layers']}, {row['cpu_seconds']:.2f} s"), "", "Refused on this machine, which has CPUs alone:", "", *refusals(record)]
    return "\n".join(lines).rstrip() + "\n"


def recorded():
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"networks": {}, "remarks": []}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--program", default=str(ROOT / "build/release/apps/vernier/vernier"))
    parser.add_argument("--only", nargs="*", default=list(NETWORKS), choices=NETWORKS)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for network in [] if options.render else options.only:
            versions, result = measure(options.program, options.torch, network, (options.work or pathlib.Path(folder)) / network)
            record = recorded()
            found = record["networks"] | {network: result}
            record["networks"] = {name: found[name] for name in NETWORKS if name in found}
            record |= {"versions": versions, "date": str(datetime.date.today()), "machine": f"{processor()}, 2 usable cores, busy"}
            RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    PAGE.write_text(page(recorded()))


if __name__ == "__main__":
    main()
