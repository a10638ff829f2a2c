"""Compares `vernier fix` with `vernier diagnose` on the shared networks in INT8 and writes docs/records/fix.md.

    python bench/compare_fix.py [--program build/release/apps/vernier/vernier] [--only NETWORK ...] [--samples 20] [--db 3] [--limit 900]
                                [--jobs ours openvino nncf modelopt per-tensor] [--nncf PYTHON] [--modelopt PYTHON] [--render]

Half of the samples (bench/networks.py makes them) calibrate and are what repairs learn from, the other half judges. Each network is
asked for what everything in INT8 gives there, and --db more, in every output; both commands get the same requirement. Results are
merged into bench/results/compare_fix.json network by network, so that a part can be measured again; a network that is not in it stands
in the page as not run. --render writes the page without measuring. VERNIER_SHARED names the shared folder.

NNCF and ModelOpt learn from the same calibrating half and are judged on the other by bench/peer_quantize.py, in the Pythons that --nncf
and --modelopt name; --jobs leaves out what need not be measured again. ours comes first: what NNCF's accuracy control is asked for is
what ours was, and so is what `fix` is asked for as it places for OpenVINO, which is where NNCF's own models run.

Seconds depend on what else the machine does; CPU seconds less so, and decibels and counts not at all.
"""
import argparse
import datetime
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time

import numpy as np

from networks import NETWORKS, ROOT, model_file, samples_of, save
from paragraph import filled, headed
from processor import processor

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

RESULTS = ROOT / "bench/results/compare_fix.json"
PAGE = ROOT / "docs/records/fix.md"
PER_TENSOR = {"mobilenetv2-imagenet": 100, "rfb320-face": 20, "yolox-nano": 20}  # samples
AGREEMENT = "mobilenetv2-imagenet"  # asked for the same largest element; judged on photographs and their mirror images
FEW = {"style-candy": 4}  # samples of a network whose every run takes seconds
CONTROL = "nncf-accuracy-control"
PEERS = {"nncf": ["nncf", "nncf-accurate-bias", "nncf-accurate-bias-mixed", "nncf-transformer", "nncf-onnx", CONTROL],
         "modelopt": ["modelopt-max", "modelopt-entropy"]}


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
    row["phases"] = {phase["phase"]: round(phase["seconds"], 2) for phase in report.get("phases", [])}
    if report.get("final_figures"):
        row["final_db"] = worst(report["final_figures"])
        row["passed"] = report["final_figures"].get("passed")
    return row


def accepted_of(report):
    """Repair -> proposals that were accepted."""
    accepted = {}
    for tried in report["explanation"]["repairs"]:
        accepted[tried["id"]] = accepted.get(tried["id"], 0) + tried["accepted"]
    return {name: count for name, count in accepted.items() if count}


def measure(program, network, calibration, judging, db, limit):
    common = [str(model_file(network)), "--data", str(judging), "--calibration-data", str(calibration), "--int8", "--json", "-q"]
    plain, _, _ = run([program, "diagnose", *common, "--no-latency", "--no-options", "--no-split"], limit)
    if isinstance(plain, str):
        return {"failed": plain}
    result = {"all_low_db": worst(plain["all_low"])}
    needs = [f"{o['name']}:{o['sqnr_db'] + db:.2f}" for o in plain["all_low"]["outputs"] if isinstance(o["sqnr_db"], (int, float))]
    result["needs"] = needs
    for job, more in (("diagnose", ["--no-latency", "--no-options", "--no-split"]), ("fix", ["--no-split"])):
        report, seconds, cpu = run([program, job, *common, *more, "--min-sqnr", *needs], limit)
        if isinstance(report, str):
            result[job] = {"failed": report}
            continue
        result[job] = row_of(report, seconds, cpu)
        if job == "diagnose":
            continue
        result[job]["repaired_db"] = worst(report["repaired"]) if report.get("repaired") else None
        result[job]["accepted"] = accepted_of(report)
    return result


def measure_openvino(program, network, calibration, judging, needs, limit):
    """`fix` by OpenVINO's rules, for the requirement that TensorRT's were asked for."""
    report, seconds, cpu = run([program, "fix", str(model_file(network)), "--data", str(judging), "--calibration-data", str(calibration), "--int8",
                                "--target", "openvino", "--json", "-q", "--min-sqnr", *needs], limit)
    if isinstance(report, str):
        return {"failed": report}
    row = row_of(report, seconds, cpu)
    row["all_low_db"] = worst(report["all_low"])
    row["repaired_db"] = worst(report["repaired"]) if report.get("repaired") else row["all_low_db"]
    return row | {"accepted": accepted_of(report)}


def measure_alike(program, network, calibration, judging, best, limit):
    """`fix` with the layers in float that ModelOpt's best leaves there."""
    left = (best[1] if best else {}).get("left")
    if not left:
        return {}
    report, _, _ = run([program, "fix", str(model_file(network)), "--data", str(judging), "--calibration-data", str(calibration), "--int8", "--json",
                        "-q", "--layer-precisions", *(f"{name}:float32" for name in left)], limit)
    if isinstance(report, str):
        return {"failed": report}
    return {"left": left, "all_low_db": worst(report["all_low"]), "repaired_db": worst(report.get("repaired") or report["all_low"])}


def measure_per_tensor(program, network, calibration, judging, limit):
    """`fix` with one step for each weight. Where agreement can be asked for it is; then once more with nothing but the repair that is
    meant for such weights, and without it."""
    asked = ["--min-top1-agreement", "0.95"] if network == AGREEMENT else []
    runs = {"all repairs": []}
    if asked:
        runs |= {"weight-grid alone": ["--allow", "weight-grid"], "all but weight-grid": ["--forbid", "weight-grid"],
                 "all repairs, ONNX Runtime's rules": ["--target", "onnxruntime"], "all repairs, OpenVINO's rules": ["--target", "openvino"]}
    found = {}
    for name, words in runs.items():
        report, seconds, cpu = run([program, "fix", str(model_file(network)), "--data", str(judging), "--calibration-data", str(calibration), "--int8",
                                    "--per-tensor", "--json", "-q", *asked, *words], limit)
        if isinstance(report, str):
            found[name] = {"failed": report}
            continue
        figures = {"all low": report["all_low"], "repaired": report.get("repaired") or report["all_low"]}
        found[name] = {"seconds": seconds, "cpu_seconds": cpu, "kept": len((report.get("kept") or {}).get("layers", [])), "accepted": accepted_of(report),
                       "db": {key: worst(value) for key, value in figures.items()}}
        if asked:
            found[name]["top1"] = {key: value["outputs"][0]["top1_agreement"] for key, value in figures.items()}
        print(network, "per tensor", name, json.dumps(found[name]), flush=True)
    return found


def measure_peer(python, methods, network, calibration, judging, needs, limit):
    """Method -> what bench/peer_quantize.py says of it."""
    found = {}
    for method in methods:
        command = [python, str(ROOT / "bench/peer_quantize.py"), method, str(model_file(network)), str(calibration), str(judging),
                   "--limit", str(limit), "--needs", *needs]
        try:
            done = subprocess.run(command, cwd=calibration.parent, capture_output=True, text=True, check=False, timeout=limit + 60)
            line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
            found[method] = json.loads(line[7:]) if line else {"failed": f"ended with code {done.returncode}"}
        except subprocess.TimeoutExpired:  # in native code, where Python's own alarm waits
            found[method] = {"failed": f"no answer within {limit} s"}
        print(network, method, json.dumps(found[method]), flush=True)
    return found


def machine():
    model = processor()
    return model


def decibels(value):
    return "not finite" if value is None else f"{value:.1f} dB"


def kept_text(row):
    if "failed" in row:
        return row["failed"]
    share = f", {100 * row['kept_macs'] / row['total_macs']:.0f} % of the products" if row.get("kept_macs") and row.get("total_macs") else ""
    return f"{row['kept']}{share}" if row["end"] != "impossible" else "impossible"


def page(record):
    few = ", ".join(f"{count} of {network}" for network, count in FEW.items())
    lines = [*headed("Repairs compared", PAGE),
             filled("For readers who ask what `vernier fix` gains over `vernier diagnose`, and over NNCF and ModelOpt, in INT8 on the shared networks."), "",
             filled("Made by `bench/compare_fix.py` from [bench/results/compare_fix.json](../../bench/results/compare_fix.json). Networks are placed for TensorRT. "
                    f"{record['date']}. Machine: {record['machine']}, {record['load']}."), "",
             filled(f"- Half of at most {record['samples']} samples ({few}) calibrate and choose repairs; the other half is the held-out set of every figure."),
             filled(f"- The requirement for each output is {record['db']:g} dB above everything in INT8."),
             filled("- *repaired*: the worst output with everything in INT8 and all kept repairs."),
             filled("- *kept*: layers in FP32 for the requirement."),
             filled("- *time*: CPU seconds of `fix` over those of `diagnose`."), "",
             "| network | all INT8 | repaired | gain | kept by `diagnose` | kept by `fix` | CPU s | time | repairs kept, by proposals |", "|---|---|---|---|---|---|---|---|---|"]
    losses = []
    for network in NETWORKS:
        result = record["networks"].get(network)
        if result is None or "diagnose" not in result:
            lines.append(f"| {network} | not run{': ' + result['failed'] if result and 'failed' in result else ''} | | | | | | | |")
            continue
        diagnose, fix = result["diagnose"], result["fix"]
        if "failed" in diagnose or "failed" in fix:
            lines.append(f"| {network} | {decibels(result['all_low_db'])} | | | {kept_text(diagnose)} | {kept_text(fix)} | | | |")
            losses.append(f"{network}: no answer in time")
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
    peers, behind = peer_table(record)
    per_tensor = per_tensor_table(record)
    lines += ["", "Losses: " + ("; ".join(losses) if losses else "none in these figures") + ".", "", *per_tensor, *peers]
    lines += ["", filled("Below the best of them by the same engine's rules, with the same layers in float: " + ("; ".join(behind) or "none in these figures") + ".")]
    return "\n".join(lines) + "\n"


def per_tensor_table(record):
    rows = []
    for network, result in record.get("per_tensor", {}).items():
        for name, found in result["runs"].items():
            if "failed" in found:
                rows.append(f"| {network} | {name} | {found['failed']} | | | | |")
                continue
            top1 = [f", {100 * value:.1f} %" for value in found["top1"].values()] if "top1" in found else ["", ""]
            accepted = ", ".join(f"{repair} {count}" for repair, count in found["accepted"].items()) or "none"
            rows.append(f"| {network} ({result['samples'][0]} + {result['samples'][1]} samples) | {name} | {decibels(found['db']['all low'])}{top1[0]} | "
                        f"{decibels(found['db']['repaired'])}{top1[1]} | {found['kept']} | {accepted} | {found['cpu_seconds']:.0f} |")
    if not rows:
        return []
    return ["## One step for each weight", "",
            filled("`--per-tensor`: everything in INT8, before and after repairs. The first samples calibrate, the others are held out, for mobilenetv2-imagenet with their mirror "
                   "images. Its weights come from quantization-aware training and lie on a grid. Its figures include top-1 agreement, with at least 95 percent required."), "",
            "| network | tried | all INT8 | repaired | kept | repairs kept, by proposals | CPU s |", "|---|---|---|---|---|---|---|",
            *rows, ""]


def best_of(found):
    """(method, its result) with the most dB; None where none has an answer."""
    answers = [(method, result) for method, result in found.items() if "db" in result and method != CONTROL]
    return max(answers, key=lambda answer: answer[1]["db"], default=None)


def peer_text(answer, prefix):
    if answer is None:
        return "none"
    method, result = answer
    layers = f", {result['weighted'] - len(result['left'])} of {result['weighted']} weighted layers" if "left" in result else ""
    return f"{result['db']:.1f} dB ({method.removeprefix(prefix).replace('-', ' ').strip() or 'as it comes'}{layers})"


def control_text(result):
    if result is None:
        return "not run"
    if "failed" in result:
        used = f" ({result['cpu_seconds']:.0f} CPU s)" if result["failed"].startswith("no answer") and "cpu_seconds" in result else ""
        return result["failed"][:70] + used
    of = f" of {result['of']}" if result["of"] else ""
    return f"{result['kept']}{of}{'' if result['met'] else ', missed'}"


def peer_table(record):
    """Lines of a table, and where ours has fewer dB than the best of the others."""
    rows, behind, versions, trouble = [], [], set(), []
    for network in NETWORKS:
        result = record["networks"].get(network) or {}
        others = {name: result.get(name) for name in ("nncf", "modelopt")}
        if not any(others.values()):
            continue
        for found in filter(None, others.values()):
            versions |= {answer["version"] for answer in found.values() if "version" in answer}
            reasons = {}
            for method, answer in found.items():
                if "failed" in answer and method != CONTROL:
                    reasons.setdefault(answer["failed"][:70], []).append(method)
            trouble += [f"{network}, {', '.join(methods)} ({reason})" for reason, methods in reasons.items()]
        ours = result.get("all_low_db")
        repaired = result.get("fix", {}).get("repaired_db") or ours
        openvino = result.get("openvino", {})
        nncf, modelopt = others["nncf"] or {}, others["modelopt"] or {}
        plain = ("nncf", nncf["nncf"]) if "db" in nncf.get("nncf", {}) else None
        bests = {"NNCF": best_of(nncf), "ModelOpt": best_of(modelopt)}
        alike = result.get("alike", {})
        for name, best, answer in (("NNCF", bests["NNCF"], openvino.get("repaired_db")),
                                   ("ModelOpt", bests["ModelOpt"], alike.get("repaired_db", repaired))):
            if best and answer is not None and best[1]["db"] > answer + 0.05:
                behind.append(f"{network}, {best[1]['db'] - answer:.1f} dB behind {name}")
        both = f"{decibels(openvino['all_low_db'])}, {decibels(openvino['repaired_db'])}" if "repaired_db" in openvino else openvino.get("failed", "not run")
        same = f"{decibels(alike['all_low_db'])}, {decibels(alike['repaired_db'])}" if "all_low_db" in alike else alike.get("failed", "")
        cells = [f"{decibels(ours)}, {decibels(repaired)}" if "fix" in result else "not run", same, peer_text(bests["ModelOpt"], "modelopt") if modelopt else "not run",
                 both, peer_text(plain, "nncf"), peer_text(bests["NNCF"], "nncf"), kept_text(result["fix"]) if "fix" in result else "not run",
                 kept_text(openvino) if openvino else "not run", control_text(nncf.get(CONTROL))]
        rows.append(f"| {network} | " + " | ".join(cells) + " |")
    if not rows:
        return ["NNCF's and ModelOpt's answers were not measured."], []
    head = ["## Compared with other quantizers", "",
            filled("The worst output on the same held-out set, with everything in INT8, before and after our repairs. Each quantizer follows its engine: ModelOpt TensorRT, NNCF OpenVINO. "
                   "OpenVINO's 255 steps for values that are never negative are up to 6 dB better than TensorRT's 127, so ours is measured by each engine's rules (`--target`)."), "",
            filled("- *as ModelOpt*: ours, with those layers in float that ModelOpt's best leaves in float. Both leave other layers than ours. NNCF quantizes inside LSTM, ours rounds at "
                   "its inputs and outputs."),
            filled("- *best* of NNCF: `nncf.quantize` by default, with `fast_bias_correction=False`, with that and the mixed preset, with that and the transformer model type, and on the "
                   "ONNX file itself. The last runs in ONNX Runtime, the others in OpenVINO. NNCF corrects biases in all of these."),
            filled("- *best* of ModelOpt: `max` and `entropy`."),
            filled("- *kept*: layers in float for 3 dB above everything in INT8 by TensorRT's rules, by `fix` and by `nncf.quantize_with_accuracy_control`. Both searches see the held-out "
                   "set."), "",
            "; ".join(sorted(versions)) + ".", "",
            "| network | ours, TensorRT's rules | ours, as ModelOpt | ModelOpt's best | ours, OpenVINO's rules | NNCF as it comes | NNCF's best | kept by `fix`, TensorRT | kept by `fix`, OpenVINO | kept by NNCF |",
            "|---|---|---|---|---|---|---|---|---|---|"]
    tail = ["", "Without an answer:", "", *(filled(f"- {each}") for each in trouble)] if trouble else []
    return head + rows + tail, behind


def recorded():
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"networks": {}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/apps/vernier/vernier")
    parser.add_argument("--only", nargs="*", default=NETWORKS)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--db", type=float, default=3)
    parser.add_argument("--limit", type=int, default=900)
    parser.add_argument("--load", default="nothing else was running", help="what else ran, for the page")
    parser.add_argument("--jobs", nargs="*", default=["ours", "openvino", *PEERS], choices=["ours", "openvino", "per-tensor", *PEERS])
    parser.add_argument("--nncf", help="a Python that has NNCF and OpenVINO")
    parser.add_argument("--modelopt", help="a Python that has ModelOpt")
    parser.add_argument("--peer-limit", type=int, default=300, help="seconds for one answer of another quantizer")
    parser.add_argument("--methods", nargs="*", help="only these of the other quantizers")
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    for network in [] if options.render or options.jobs == ["per-tensor"] else options.only:
        every = samples_of(network, min(options.samples, FEW.get(network, options.samples)))
        half = len(every) // 2
        needs = recorded()["networks"].get(network, {}).get("needs", [])
        found = {"samples": [half, len(every) - half]}
        with tempfile.TemporaryDirectory() as folder:
            calibration = save(pathlib.Path(folder) / "calibration", network, every[:half])
            judging = save(pathlib.Path(folder) / "judging", network, every[half:])
            if "ours" in options.jobs:
                found.update(measure(str(options.program.resolve()), network, calibration, judging, options.db, options.limit))
                needs = found.get("needs", needs)
                print(network, json.dumps(found), flush=True)
            if "openvino" in options.jobs:
                found["openvino"] = measure_openvino(str(options.program.resolve()), network, calibration, judging, needs, options.limit)
                print(network, json.dumps(found["openvino"]), flush=True)
            for peer, methods in PEERS.items():
                python = getattr(options, peer)
                if python and peer in options.jobs:
                    wanted = [method for method in methods if options.methods is None or method in options.methods]
                    found[peer] = measure_peer(python, wanted, network, calibration, judging, needs, options.peer_limit)
            if "modelopt" in found:
                found["alike"] = measure_alike(str(options.program.resolve()), network, calibration, judging, best_of(found["modelopt"]), options.limit)
                print(network, "as ModelOpt", json.dumps(found["alike"]), flush=True)
        record = recorded()  # as it is now: other jobs may have ended meanwhile
        record.update(samples=options.samples, db=options.db, machine=machine(), date=str(datetime.date.today()))
        if "ours" in options.jobs:
            record["load"] = options.load
        result = record["networks"].setdefault(network, {})
        for peer in PEERS:
            found[peer] = result.get(peer, {}) | found.get(peer, {})
        if "ours" in options.jobs:
            result.pop("failed", None)
        result.update({key: value for key, value in found.items() if value != {}})
        RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if "per-tensor" in options.jobs and not options.render:
        for network in [network for network in PER_TENSOR if network in options.only]:
            every = samples_of(network, PER_TENSOR[network])
            learnt = 2 * len(every) // 5
            with tempfile.TemporaryDirectory() as folder:
                calibration = save(pathlib.Path(folder) / "calibration", network, every[:learnt])
                judges = every[learnt:]
                if network == AGREEMENT:  # sixty photographs are few: one is 1.7 percent, and some lie between two classes
                    judges = judges + [np.ascontiguousarray(np.flip(sample, axis=-1)) for sample in judges]
                judging = save(pathlib.Path(folder) / "judging", network, judges)
                runs = measure_per_tensor(str(options.program.resolve()), network, calibration, judging, options.limit)
            record = recorded()
            record.setdefault("per_tensor", {})[network] = {"samples": [learnt, len(judges)], "runs": runs}
            RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    record = recorded()
    PAGE.write_text(page(record), encoding="utf-8")


if __name__ == "__main__":
    main()
