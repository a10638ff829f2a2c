"""What `vernier` gives on samples that it was not shown, next to plain INT8; writes docs/records/unseen.md.

    python bench/unseen.py [--program build/release/apps/vernier/vernier] [--only NETWORK ...] [--fit 10 30 60 100] [--seeds 3]
                           [--options=--per-tensor] [--limit 900] [--jobs 1] [--results FILE] [--render]

For each network, count of samples and seed: that many samples are drawn and given to the program, and all others, 100 at most, judge
what it wrote: ONNX Runtime without optimizations runs each file and the float model, and SQNR is that of the worst output. Files:

    plain      everything in INT8: `diagnose` without a requirement
    fix        `fix` without a requirement
    fix +3     `fix --min-sqnr P`, P three decibels beyond the plain file's figure in its own report
    keep +3    `diagnose --options 0 --min-sqnr P`

Networks with a state are left out, and so are splits that leave fewer than 30 samples to judge. A loss is *certain* where the
gain over the plain file, sample by sample, is below zero by more than two standard errors. Results are merged into
bench/results/unseen.json run by run; --render writes the page without measuring. --jobs N runs N splits at a time, each on a core
of its own: the longest first, and compare counts, not seconds.
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
SLOW = {"style-candy"}  # seconds a sample
WANTED_DB = 3
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


def one_split(program, network, fit, seed, options, limit):
    everything = samples_of(network, 130)
    order = np.random.default_rng(seed).permutation(len(everything))
    shown, unseen = [everything[i] for i in order[:fit]], [everything[i] for i in order[fit:fit + MOST_JUDGES]]
    if len(shown) < fit or len(unseen) < FEWEST_JUDGES:
        return None
    row = {"network": network, "fit": fit, "seed": seed, "unseen": len(unseen)}
    with tempfile.TemporaryDirectory() as folder:
        data = save(folder, network, shown)
        reference = outputs_of(model_file(network), unseen)
        names = [o.name for o in session(model_file(network)).get_outputs()]
        common = [str(model_file(network)), "--int8", "--data", str(data), "--no-latency", "--json", *options]
        jobs = [("plain", ["diagnose", *common]), ("fix", ["fix", *common])]
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
    given, network, fit, seed = job
    row = one_split(given.program, network, fit, seed, given.options, given.limit)
    if row and given.options:
        row["options"] = given.options
    return row


def key_of(row):
    return (row["network"], row["fit"], row["seed"], tuple(row.get("options", ())))


def text_of(rows, fit):
    some = [r for r in rows if r["fit"] == fit and r.get("fix", {}).get("db") is not None and r["plain"].get("db") is not None]
    if not some:
        return None
    gains = [r["fix"]["db"] - r["plain"]["db"] for r in some]
    cells = [str(fit), str(len(some)), f"{np.mean(gains):+.2f}", str(sum(g < -0.3 for g in gains)), str(sum(certain_loss(r["fix"]) for r in some))]
    for name in ("fix +3", "keep +3"):
        asked = [r for r in some if name in r and r[name].get("passed")]
        cells.append(f"{sum(r[name]['db'] >= r['wanted'] for r in asked)} of {len(asked)}")
    kept = [r["keep +3"]["macs"] for r in some if r.get("keep +3", {}).get("macs") is not None]
    cells.append(f"{100 * np.mean(kept):.0f} %" if kept else "-")
    bounds = [(r[n]["db"], r[n]["interval"]) for r in some for n in ("plain", "fix") if r[n].get("interval")]
    cells.append(f"{sum(low <= db <= high for db, (low, high) in bounds)} of {len(bounds)}")
    seconds = [r["fix"]["seconds"] for r in some]
    cells.append(f"{np.median(seconds):.1f}")
    return "| " + " | ".join(cells) + " |"


def render():
    kept = json.loads(RESULTS.read_text())
    rows = [r for r in kept["rows"] if not r.get("options")]
    lines = [*headed("Answers on unseen samples", PAGE),
             "For readers who ask whether a figure, a requirement and a repair hold on samples that Vernier did",
             "not get.", "",
             filled("Made by `bench/unseen.py` from [bench/results/unseen.json](../../bench/results/unseen.json): INT8, target TensorRT, "
                    f"{kept['version']}. {kept['date']}, {kept['machine']}, several splits at a time."), "",
             "Goals: 1.5 dB from 30 samples, 2 dB from 60, 1 split in 20 loses 0.3 dB, 85 of 100 requirements are",
             "met, 88 of 100 figures lie inside.", "",
             "- Each split draws samples for Vernier. Up to 100 others are the held-out set of every figure.",
             "- ONNX Runtime without optimizations runs the files.",
             "- *gain*: `fix` compared with plain INT8 from the same samples, the worst output.",
             "- *certain loss*: the gain per sample is below zero by more than two standard errors.",
             "- *met*: `fix` and `diagnose` were asked for 3 dB above plain INT8, and claimed it at the default",
             "  confidence of 90 %.", "",
             "| samples given | splits | gain, dB | losses above 0.3 dB | certain losses | met by `fix` | met by `diagnose` "
             "| kept multiply-accumulates | figures inside the 95 % interval | median seconds of `fix` |",
             "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for fit in sorted({r["fit"] for r in rows}):
        if text := text_of(rows, fit):
            lines.append(text)
    lines += ["", "The data have the held-out SQNR and the kept layers of each split."]
    PAGE.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build/release/apps/vernier/vernier"))
    parser.add_argument("--only", nargs="*", default=[n for n in STATELESS if n not in SLOW])
    parser.add_argument("--fit", nargs="*", type=int, default=[10, 30, 60, 100])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--options", nargs="*", default=[])
    parser.add_argument("--limit", type=float, default=900)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--render", action="store_true")
    given = parser.parse_args()
    if given.render:
        return render()
    kept = json.loads(given.results.read_text()) if given.results.exists() else {"rows": []}
    cpu = processor()
    kept["machine"], kept["date"] = f"{cpu}, {len(os.sched_getaffinity(0))} usable cores", datetime.date.today().isoformat()
    kept["version"] = subprocess.run([given.program, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    # Long ones first: a split takes about as long as its network's largest file runs, times its samples.
    splits = sorted(((network, fit, seed) for network in given.only for fit in given.fit for seed in range(given.seeds)),
                    key=lambda s: (-SECONDS.get(s[0], 1) * s[1], s[2]))
    cores = multiprocessing.Queue()
    for core in sorted(os.sched_getaffinity(0))[:given.jobs]:
        cores.put(core)
    with multiprocessing.Pool(given.jobs, pin if given.jobs > 1 else None, (cores,) if given.jobs > 1 else ()) as pool:
        for row in pool.imap_unordered(measured, [(given, *split) for split in splits]):
            if row is None:
                continue
            kept["rows"] = [r for r in kept["rows"] if key_of(r) != key_of(row)] + [row]
            given.results.write_text(json.dumps(kept, indent=1) + "\n")
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
