"""Compares `vernier fix` with `vernier diagnose` on the shared networks in INT8 and writes docs/benchmarks-fix.md.

    python bench/compare_fix.py [--program build/release/apps/vernier/vernier] [--only NETWORK ...] [--samples 20] [--db 3] [--limit 900]
                                [--render]

Half of the samples (bench/networks.py makes them) calibrate and are what repairs learn from, the other half judges. Each network is
asked for what everything in INT8 gives there, and --db more, in every output; both commands get the same requirement. Results are
merged into bench/results/compare_fix.json network by network, so that a part can be measured again; a network that is not in it stands
in the page as not run. --render writes the page without measuring. VERNIER_SHARED names the shared folder.

Seconds depend on what else the machine does; CPU seconds less so, and decibels and counts not at all.
"""
import argparse
import json
import pathlib
import platform
import resource
import subprocess
import tempfile
import time

from networks import NETWORKS, ROOT, model_file, samples_of, save

RESULTS = ROOT / "bench/results/compare_fix.json"
PAGE = ROOT / "docs/benchmarks-fix.md"


def run(command, limit):
    """The report, seconds and CPU seconds; a reason in words where there is none."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"cut short after {limit} s", None, None
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if not done.stdout.startswith("{"):
        return done.stderr.strip().splitlines()[-1] if done.stderr else "no report", seconds, cpu
    return json.loads(done.stdout), round(seconds, 2), round(cpu, 2)


def worst(figures):
    """SQNR of the worst output that has one; a number, or None where nothing is finite."""
    values = [o["sqnr_db"] for o in figures["outputs"] if isinstance(o["sqnr_db"], (int, float))]
    return round(min(values), 2) if values else None


def row_of(report, seconds, cpu):
    kept = report.get("kept") or {}
    row = {"seconds": seconds, "cpu_seconds": cpu, "kept": len(kept.get("layers", [])), "of": kept.get("candidates") or len(report["layers"]),
           "end": kept.get("end"), "kept_macs": kept.get("kept_macs"), "total_macs": kept.get("total_macs")}
    if report.get("final_figures"):
        row["final_db"] = worst(report["final_figures"])
        row["passed"] = report["final_figures"].get("passed")
    return row


def measure(program, network, samples, db, limit):
    every = samples_of(network, samples)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        calibration = save(folder / "calibration", network, every[: len(every) // 2])
        judging = save(folder / "judging", network, every[len(every) // 2:])
        common = [str(model_file(network)), "--data", str(judging), "--calibration-data", str(calibration), "--int8", "--json", "-q"]
        plain, _, _ = run([program, "diagnose", *common, "--no-latency"], limit)
        if isinstance(plain, str):
            return {"failed": plain}
        result = {"samples": [len(every) // 2, len(every) - len(every) // 2], "all_low_db": worst(plain["all_low"])}
        needs = [f"{o['name']}:{o['sqnr_db'] + db:.2f}" for o in plain["all_low"]["outputs"] if isinstance(o["sqnr_db"], (int, float))]
        result["needs"] = needs
        for job, more in (("diagnose", ["--no-latency"]), ("fix", [])):
            report, seconds, cpu = run([program, job, *common, *more, "--min-sqnr", *needs], limit)
            if isinstance(report, str):
                result[job] = {"failed": report}
                continue
            result[job] = row_of(report, seconds, cpu)
            if job == "diagnose":
                continue
            result[job]["repaired_db"] = worst(report["repaired"]) if report.get("repaired") else None
            accepted = {}
            for tried in report["explanation"]["repairs"]:
                accepted[tried["id"]] = accepted.get(tried["id"], 0) + tried["accepted"]
            result[job]["accepted"] = {name: count for name, count in accepted.items() if count}
    return result


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")), platform.machine())
    return model


def decibels(value):
    return "not finite" if value is None else f"{value:.1f} dB"


def kept_text(row):
    if "failed" in row:
        return row["failed"]
    share = f", {100 * row['kept_macs'] / row['total_macs']:.0f} % of the products" if row.get("kept_macs") and row.get("total_macs") else ""
    return f"{row['kept']}{share}" if row["end"] != "impossible" else "impossible"


def page(record):
    lines = ["# Repairs compared", "",
             "`vernier fix` against `vernier diagnose` in INT8 on the shared networks, as each is placed for TensorRT. Written by `bench/compare_fix.py`; the",
             "record is [bench/results/compare_fix.json](../bench/results/compare_fix.json).", "",
             f"Half of at most {record['samples']} samples calibrate and are what repairs are chosen by; the other half gives every figure below. Required is, of each",
             f"output, what everything in INT8 gives and {record['db']:g} dB more. *repaired*: the worst output with everything in INT8 and all repairs that were kept;",
             "*kept*: layers in float32 that the requirement takes; *time*: CPU seconds of `fix` over those of `diagnose`.", "",
             f"Machine: {record['machine']}, {record['load']}", "",
             "| network | all INT8 | repaired | gain | kept by `diagnose` | kept by `fix` | CPU s | time | repairs kept, by proposals |", "|---|---|---|---|---|---|---|---|---|"]
    losses = []
    for network in NETWORKS:
        result = record["networks"].get(network)
        if result is None or "failed" in result:
            lines.append(f"| {network} | not run{': ' + result['failed'] if result else ''} | | | | | | | |")
            continue
        diagnose, fix = result["diagnose"], result["fix"]
        if "failed" in diagnose or "failed" in fix:
            lines.append(f"| {network} | {decibels(result['all_low_db'])} | | | {kept_text(diagnose)} | {kept_text(fix)} | | | |")
            losses.append(f"{network}: no answer in the time that there was")
            continue
        repaired = fix["repaired_db"] if fix["repaired_db"] is not None else result["all_low_db"]
        gain = repaired - result["all_low_db"]
        if fix["kept"] > diagnose["kept"]:
            losses.append(f"{network} keeps {fix['kept']} layers, and {diagnose['kept']} without repairs")
        if gain < 0:
            losses.append(f"{network} is {-gain:.1f} dB worse")
        if fix["cpu_seconds"] > 3 * diagnose["cpu_seconds"]:
            losses.append(f"{network} takes {fix['cpu_seconds'] / diagnose['cpu_seconds']:.1f} times the time of `diagnose`, and 3 are allowed")
        accepted = ", ".join(f"{name} {count}" for name, count in fix["accepted"].items()) or "none"
        lines.append(f"| {network} | {decibels(result['all_low_db'])} | {decibels(repaired)} | {gain:+.1f} dB | {kept_text(diagnose)} | {kept_text(fix)} | "
                     f"{diagnose['cpu_seconds']:.1f} / {fix['cpu_seconds']:.1f} | {fix['cpu_seconds'] / diagnose['cpu_seconds']:.1f} x | {accepted} |")
    lines += ["", "Losses: " + ("; ".join(losses) if losses else "none in these figures") + ".", "",
              "NNCF's and ModelOpt's answers were not measured here; [searches compared](benchmarks-search.md) has NNCF's kept sets on some of these networks."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/apps/vernier/vernier")
    parser.add_argument("--only", nargs="*", default=NETWORKS)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--db", type=float, default=3)
    parser.add_argument("--limit", type=int, default=900)
    parser.add_argument("--load", default="nothing else was running", help="what else ran, for the page")
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    record = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"networks": {}}
    if not options.render:
        record.update(samples=options.samples, db=options.db, machine=machine(), load=options.load)
        for network in options.only:
            record["networks"][network] = measure(str(options.program.resolve()), network, options.samples, options.db, options.limit)
            print(network, json.dumps(record["networks"][network]), flush=True)
            RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")


if __name__ == "__main__":
    main()
