"""What `vernier` gives on samples that it was not shown, next to plain INT8; writes docs/records/unseen.md.

    python bench/unseen.py [--program build/release/apps/vernier/vernier] [--only NETWORK ...] [--fit 10 30 60 100] [--seeds 3]
                           [--targets TARGET ...] [--nncf PYTHON] [--modelopt PYTHON] [--again]
                           [--files plain fix asked] [--into rows] [--limit 900] [--jobs 1] [--results FILE] [--render]

For each network, count of samples and seed: that many samples are drawn and given to the program, and all others, 100 at most, judge
what it wrote: ONNX Runtime without optimizations runs each file and the float model, and SQNR is that of the worst output. Files:

    plain      everything in INT8: `diagnose` without a requirement
    fix        `fix` without a requirement
    fix +3     `fix --min-sqnr P`, P three decibels beyond the plain file's figure in its own report
    keep +3    `diagnose --options 0 --min-sqnr P`

--files chooses among plain, fix, and the two that are asked for a requirement. TARGETS names the targets. The Pythons of --nncf and
--modelopt have these peers: bench/peer_quantize.py quantizes with them instead, from the same samples, and the same held-out set judges
what they write. What the results hold already is not measured again, except with --again. They go into the list that --into names:
`before` for those of a program before a change of claims, `plain` for those of --files plain.

Networks with a state are left out, and so are splits that leave fewer than 30 samples to judge. A loss is *certain* where the
gain over the plain file, sample by sample, is below zero by more than two standard errors. Results are merged into
bench/results/unseen.json run by run; --render writes the page without measuring. --jobs N runs N splits at a time, each on a core
of its own, the longest first: then compare counts, not seconds.
"""
import argparse
import datetime
import json
import math
import multiprocessing
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np

from held_out import certain_loss, judged, outputs_of, session
from networks import ROOT, STATELESS, model_file, samples_of, save
from paragraph import filled, headed
from processor import processor

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

RESULTS = ROOT / "bench/results/unseen.json"
PAGE = ROOT / "docs/records/unseen.md"
MOST_JUDGES, FEWEST_JUDGES = 100, 30
KEY = ("network", "fit", "seed", "by")  # `by`: a target of the program, or a peer's method
SLOW = {"style-candy"}  # seconds a sample
WANTED_DB = 3
ASKED = ("fix +3", "keep +3")
OTHERS_FIT = 30  # samples given where targets and peers are compared
SINCE = "2026-11-30"  # claims are for as many new samples since then; rows "before" are of the program just before
# What is asked of the program.
TARGETS = {"TensorRT": ["--int8"], "ONNX Runtime": ["--int8", "--target", "onnxruntime"], "OpenVINO": ["--int8", "--target", "openvino"],
           "per tensor": ["--int8", "--per-tensor"], "INT4 weights": ["--int4"]}
OF_PRODUCTS = ["stories260k", "vit-cifar", "resnet8-cifar"]  # INT4 is for weights of MatMul and Gemm
# Methods of peer_quantize.py, and the target whose rules they follow.
PEERS = {"nncf": {"nncf": "OpenVINO", "nncf-accurate-bias": "OpenVINO"}, "modelopt": {"modelopt-max": "TensorRT", "modelopt-entropy": "TensorRT"}}
SECONDS = {"espcn-superres": 6, "rfb320-face": 3, "mobilenetv2-imagenet": 3, "yolox-nano": 5, "squeezenet-imagenet": 2}  # a sample


def run(command, limit):
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None, limit
    return json.loads(done.stdout) if done.stdout.startswith("{") else None, round(time.perf_counter() - start, 2)


def figures(run_figures, names):
    """SQNR of the worst whole output, as the held-out set is judged, what it exceeds on new samples, and its 95 % interval."""
    worst = min((o for o in run_figures["outputs"] if o["name"] in names), key=lambda o: o["sqnr_db"] if isinstance(o["sqnr_db"], (int, float)) else math.inf)
    between = worst.get("sqnr_db_95_percent")
    return {"said": worst["sqnr_db"], "above": worst.get("sqnr_db_above"), "interval": [between["low"], between["high"]] if between else None}


def drawn(network, fit, seed):
    """Samples that are given, and the held-out set; None where there are too few."""
    everything = samples_of(network, 130)
    order = np.random.default_rng(seed).permutation(len(everything))
    shown, unseen = [everything[i] for i in order[:fit]], [everything[i] for i in order[fit:fit + MOST_JUDGES]]
    return (shown, unseen) if len(shown) == fit and len(unseen) >= FEWEST_JUDGES else None


def of_peer(python, method, network, shown, unseen, limit):
    with tempfile.TemporaryDirectory() as folder:
        files = [save(pathlib.Path(folder) / part, network, samples) for part, samples in (("given", shown), ("new", unseen))]
        done = subprocess.run([python, str(ROOT / "bench/peer_quantize.py"), method, str(model_file(network)), *map(str, files),
                               "--limit", str(round(limit))], capture_output=True, text=True, check=False)
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), 'RESULT {"failed": "no answer"}')
    found = json.loads(line.removeprefix("RESULT "))
    return {key: found[key] for key in ("db", "seconds", "version", "failed") if key in found}


def of_program(program, target, network, shown, unseen, limit, files):
    row = {"unseen": len(unseen)}
    with tempfile.TemporaryDirectory() as folder:
        data = save(folder, network, shown)
        reference = outputs_of(model_file(network), unseen)
        names = [o.name for o in session(model_file(network)).get_outputs()]
        common = [str(model_file(network)), *TARGETS[target], "--data", str(data), "--no-latency", "--json"]
        jobs = [(name, [command, *common]) for name, command in (("plain", "diagnose"), ("fix", "fix")) if name in files]
        plain = None
        while jobs:
            name, command = jobs.pop(0)
            out = pathlib.Path(folder) / name.replace(" ", "-")
            report, seconds = run([program, *command, "-o", str(out)], limit)
            if report is None or not (out / "model.onnx").exists():
                row[name] = {"seconds": seconds, "file": False}
                continue
            got = judged(reference, outputs_of(out / "model.onnx", unseen))
            entry = row[name] = {"seconds": seconds, "db": got["db"], "top1": got["top1"]}
            claim = report.get("final_figures") or report["all_low"]
            entry.update(figures(claim, names))
            kept = report.get("kept")
            if kept:
                entry["kept"], entry["macs"] = len(kept["layers"]), round(kept["kept_macs"] / max(kept["total_macs"], 1), 4)
                entry["passed"] = claim.get("passed")
            if name == "plain":
                plain = got
                if "asked" not in files:
                    continue
                wanted = f"{entry['said'] + WANTED_DB:.2f}"
                row["wanted"] = float(wanted)
                jobs += [("fix +3", ["fix", *common, "--min-sqnr", wanted]), ("keep +3", ["diagnose", *common, "--options", "0", "--min-sqnr", wanted])]
            elif plain is not None:
                gain = plain["each"] - got["each"]
                entry["gain"], entry["error"] = round(float(gain.mean()), 3), round(float(gain.std(ddof=1) / math.sqrt(len(gain))), 3)
    return row


def pin(cores):
    os.sched_setaffinity(0, {cores.get()})


def measured(job):
    given, key, python = job
    network, fit, seed, who = key
    split = drawn(network, fit, seed)
    if split is None:
        return None
    found = (of_program(given.program, who, network, *split, given.limit, given.files) if who in TARGETS
             else of_peer(python, who, network, *split, given.limit))
    return dict(zip(KEY, key)) | {"date": datetime.date.today().isoformat()} | found


def key_of(row):
    return tuple(row[name] for name in KEY)


def table(heads, rows):
    return ["| " + " | ".join(heads) + " |", "|" + "---|" + "---:|" * (len(heads) - 1), *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def compared(gains, certain):
    """Cells of gains over plain INT8: mean, worst, losses."""
    return [f"{np.mean(gains):+.2f}", f"{min(gains):+.2f}", sum(g < -0.3 for g in gains), certain]


def both(row):
    return row.get("fix", {}).get("db") is not None and row.get("plain", {}).get("db") is not None


def gain_of(row):
    return row["fix"]["db"] - row["plain"]["db"]


def repairs_text(rows):
    cells = []
    for fit in sorted({r["fit"] for r in rows}):
        some = [r for r in rows if r["fit"] == fit]
        cells.append([fit, len(some), *compared([gain_of(r) for r in some], sum(certain_loss(r["fix"]) for r in some)),
                      f"{np.median([r['fix']['seconds'] for r in some]):.1f}"])
    return table(["samples given", "splits", "gain, dB", "worst gain, dB", "losses above 0.3 dB", "certain losses", "median seconds of `fix`"], cells)


def claims_of(rows):
    """Cells: met by `fix` and by `diagnose`, bounds below the held-out figure, kept share, figures inside."""
    cells = []
    for name in ASKED:
        passed = [r for r in rows if r[name].get("passed")]
        cells.append(f"{sum(r[name]['db'] >= r['wanted'] for r in passed)} of {len(passed)}")
    above = [r[name]["db"] >= r[name]["above"] for r in rows for name in ASKED if r[name].get("above") is not None]
    kept = [r["keep +3"]["macs"] for r in rows if r["keep +3"].get("macs") is not None]
    inside = [r[n]["interval"][0] <= r[n]["db"] <= r[n]["interval"][1] for r in rows for n in ("plain", "fix") if r[n].get("interval")]
    return [*cells, f"{sum(above)} of {len(above)}", f"{100 * np.mean(kept):.0f} %", f"{sum(inside)} of {len(inside)}"]


def claims_text(rows, before):
    """Of splits that both rules measured."""
    former = {key_of(r): r for r in before}
    pairs = [(former[key_of(r)], r) for r in rows if key_of(r) in former and all(name in r and name in former[key_of(r)] for name in ASKED)]
    cells = []
    for fit in sorted({r["fit"] for _, r in pairs}):
        some = [pair for pair in pairs if pair[1]["fit"] == fit]
        old, new = (claims_of([pair[i] for pair in some]) for i in (0, 1))
        cells.append([fit, len(some), *(one if one == other else f"{one} → {other}" for one, other in zip(old, new))])
    met, _, bounds, _, inside = claims_of([r for _, r in pairs])
    total = f"Together, by that program: {met} requirements met by `fix`, {bounds} bounds hold, {inside} figures inside."
    return sorted({r["network"] for _, r in pairs}), total, table(
        ["samples given", "splits", "met by `fix`", "met by `diagnose`", "bounds that hold", "kept multiply-accumulates", "figures inside"], cells)


def inside_text(rows, plain):
    """Plain INT8 measured again: its figures inside their intervals, before and now."""
    former = {key_of(r): r["plain"] for r in rows}
    now = {key_of(r): r["plain"] for r in plain}
    cells = []
    for fit in sorted({key[1] for key in now}):
        keys = [key for key in now if key[1] == fit and key in former]
        inside = [sum(e["interval"][0] <= e["db"] <= e["interval"][1] for e in (which[key] for key in keys)) for which in (former, now)]
        width = [np.median([which[key]["interval"][1] - which[key]["interval"][0] for key in keys]) for which in (former, now)]
        cells.append([fit, len(keys), *inside, *(f"{w:.1f}" for w in width)])
    return table(["samples given", "splits", "inside before", "inside now", "width before, dB", "width now, dB"], cells)


def others_text(rows):
    """Targets, and peers compared with the plain file of the target whose rules they follow."""
    plain = {key_of(r): r for r in rows if both(r)}
    cells = []
    for target in TARGETS:
        some = [r for r in plain.values() if r["by"] == target and r["fit"] == OTHERS_FIT]
        if some:
            cells.append([f"`fix`, {target}", len({r["network"] for r in some}), len(some),
                          *compared([gain_of(r) for r in some], sum(certain_loss(r["fix"]) for r in some)), ""])
    for method, target in ((method, target) for methods in PEERS.values() for method, target in methods.items()):
        some = [(r, plain[key]) for r in rows if r["by"] == method and r.get("db") is not None
                and (key := (r["network"], r["fit"], r["seed"], target)) in plain]
        if some:
            cells.append([f"`{method}`", len({r["network"] for r, _ in some}), len(some),
                          *compared([r["db"] - p["plain"]["db"] for r, p in some], "-"), f"{np.mean([gain_of(p) for _, p in some]):+.2f}"])
    return table(["by", "networks", "splits", "gain, dB", "worst gain, dB", "losses above 0.3 dB", "certain losses", "`fix` on these splits"], cells)


def networks_text(rows):
    """Each split of OTHERS_FIT samples: plain, after `fix`, and of peers."""
    names = [*TARGETS, *(method for methods in PEERS.values() for method in methods)]
    found = {key_of(r): r for r in rows if r["fit"] == OTHERS_FIT and r["seed"] == 0}
    cells = []
    for network in sorted({key[0] for key in found}):
        line = [network]
        for name in names:
            row = found.get((network, OTHERS_FIT, 0, name), {})
            line.append(f"{row['plain']['db']:.1f} → {row['fix']['db']:.1f}" if both(row) else f"{row['db']:.1f}" if "db" in row
                        else "failed" if "failed" in row else "no file" if row else "-")
        cells.append(line)
    return table(["network", *names], cells)


def render():
    kept = json.loads(RESULTS.read_text())
    rows = kept["rows"]
    tensorrt = [r for r in rows if r["by"] == "TensorRT" and both(r)]
    today = [r for r in tensorrt if r.get("date", "") >= SINCE]
    former = [r for r in tensorrt if r not in today and all(name in r for name in ASKED)]
    networks, total, claims = claims_text(today, kept["before"])
    versions = sorted({r["version"] for r in rows if "version" in r})
    lines = [*headed("Answers on unseen samples", PAGE),
             filled("For readers who ask whether a figure, a requirement and a repair hold on samples that Vernier did not get."), "",
             filled("Made by `bench/unseen.py` from [bench/results/unseen.json](../../bench/results/unseen.json): INT8, "
                    f"{kept['version']}. {kept['date']}, {kept['machine']}, several splits at a time."), "",
             filled("Goals: 1.5 dB from 30 samples, 2 dB from 60, and 1 split in 20 loses 0.3 dB. 85 of 100 requirements are met, and 88 to 97 of 100 "
                    "figures lie inside."), "",
             "- Each split draws samples for Vernier. Up to 100 others are the held-out set of every figure.",
             filled("- ONNX Runtime without optimizations runs the files, OpenVINO those of NNCF."),
             "- *gain*: `fix` compared with plain INT8 from the same samples, the worst output.",
             "- *certain loss*: the gain per sample is below zero by more than two standard errors.", "",
             "## Repairs", "",
             filled(f"Target TensorRT. {len(today)} of {len(tensorrt)} splits were measured on {SINCE} or later."), "",
             *repairs_text(tensorrt),
             "## Claims", "",
             filled(f"Target TensorRT; {', '.join(networks)}. Left of each arrow: the program before, which believed of a chosen set "
                    "more than its layers surely gain. Right: the program of 2026-11-30. The same splits. Splits of one seed share samples: "
                    "the 10 are among the 30. All misses from 30 samples on are of one seed: its samples hold few errors."), "",
             filled("- *met*: `fix` and `diagnose` were asked for 3 dB above plain INT8, and claimed it at the default confidence of 90 %."),
             filled("- *bounds that hold*: the held-out figure is above the bound of these two."),
             filled("- *figures inside*: held-out figures of plain INT8 and of `fix` inside their 95 % intervals."), "",
             *claims, filled(total), "",
             filled(f"Plain INT8 of other networks: {', '.join(sorted({r['network'] for r in kept['plain']}))}. Before: the intervals of 2026-11-29, which were known when the rule was "
                    "chosen."), "",
             *inside_text(tensorrt, kept["plain"]),
             filled(f"{len(former)} splits of other networks were measured on 2026-11-29 only. There {claims_of(former)[0]} requirements were met by `fix`, "
                    f"and {claims_of(former)[-1]} figures lay inside."), "",
             "## Other targets and peers", "",
             filled(f"{OTHERS_FIT} samples given. A peer's gain is that over our plain file, for OpenVINO if the peer is NNCF, for TensorRT if it is ModelOpt. Each peer "
                    f"has its default options. INT4 weights are those of MatMul and Gemm, which few of these networks have. {'; '.join(versions)}."), "",
             *others_text(rows),
             filled("SQNR on the held-out set in dB, plain → `fix`, first split of each network. *no file*: nothing would get faster."), "",
             *networks_text(rows),
             "The data have the held-out SQNR and the kept layers of each split."]
    PAGE.write_text("\n".join(lines) + "\n")


def jobs_of(given, done):
    """Seeds one after the other. With several jobs long splits come first: one takes about as long as its network's largest file runs,
    times its samples."""
    makers = {target: None for target in given.targets}
    for peer, python in (("nncf", given.nncf), ("modelopt", given.modelopt)):
        makers |= {method: python for method in PEERS[peer] if python}
    keys = [(network, fit, seed, who) for seed in range(given.seeds) for who in makers for fit in given.fit for network in given.only
            if (who != "INT4 weights" or network in OF_PRODUCTS) and (given.again or (network, fit, seed, who) not in done)]
    order = -1 if given.jobs > 1 else 1
    return [(given, key, makers[key[3]]) for key in sorted(keys, key=lambda k: (k[2], order * SECONDS.get(k[0], 1) * k[1]))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build/release/apps/vernier/vernier"))
    parser.add_argument("--only", nargs="*", default=[n for n in STATELESS if n not in SLOW])
    parser.add_argument("--fit", nargs="*", type=int, default=[10, 30, 60, 100])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--targets", nargs="*", default=["TensorRT"], choices=list(TARGETS))
    parser.add_argument("--nncf", help="a Python that has NNCF")
    parser.add_argument("--modelopt", help="a Python that has ModelOpt")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--files", nargs="*", default=["plain", "fix", "asked"], choices=["plain", "fix", "asked"])
    parser.add_argument("--into", default="rows", choices=["rows", "before", "plain"])
    parser.add_argument("--limit", type=float, default=900)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--render", action="store_true")
    given = parser.parse_args()
    if given.render:
        return render()
    kept = json.loads(given.results.read_text()) if given.results.exists() else {"rows": [], "before": [], "plain": []}
    rows = kept[given.into]
    kept["machine"], kept["date"] = f"{processor()}, {len(os.sched_getaffinity(0))} usable cores", datetime.date.today().isoformat()
    kept["version"] = subprocess.run([given.program, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    cores = multiprocessing.Queue()
    for core in sorted(os.sched_getaffinity(0))[:given.jobs]:
        cores.put(core)
    with multiprocessing.Pool(given.jobs, pin if given.jobs > 1 else None, (cores,) if given.jobs > 1 else ()) as pool:
        for row in pool.imap_unordered(measured, jobs_of(given, {key_of(row) for row in rows})):
            if row is None:
                continue
            rows[:] = [r for r in rows if key_of(r) != key_of(row)] + [row]
            given.results.write_text(json.dumps(kept, indent=1) + "\n")
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
