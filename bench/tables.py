"""docs/benchmarks.md from bench/results/main_job.json.  python bench/tables.py > docs/benchmarks.md

Every number of the page comes from the record; what misses its promise is marked and counted.
"""
import json
import pathlib

RECORD = pathlib.Path(__file__).resolve().parent / "results" / "main_job.json"
MOST_OWN_ERROR = 3.5  # plain inferences
MOST_LOCKSTEP = 4.0
LEAST_PLAIN_MS = 3.0  # below it the promise on time does not hold: fixed costs of a session's nodes rule there
EXTRA_BYTES = 100e6
GROWTH_BYTES = 8e6  # what an allocator's luck may add between few and many samples, and a share of the whole
GROWTH_SHARE = 0.03
FREE_EVALUATIONS = 12  # beyond one for each kept layer
FORMATS = {"int8": "INT8", "float16": "FP16"}


class Verdicts:
    """Marks figures against limits, and counts."""

    def __init__(self):
        self.met = 0
        self.missed = []

    def of(self, what, text, met):
        if met:
            self.met += 1
            return text
        self.missed.append(what)
        return f"**{text} (missed)**"


def table(head, rows):
    """Rows may be shorter than the head."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    filled = [[*map(str, row), *[""] * (len(head) - len(row))] for row in rows]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in filled])


def spread(summary, digits=2):
    return f"{summary['median']:.{digits}f} ({summary['min']:.{digits}f} to {summary['max']:.{digits}f})"


def megabytes(count):
    return f"{count / 1e6:.0f}"


def rows_of(record):
    for network, row in sorted(record["networks"].items()):
        for low, title in FORMATS.items():
            yield network, title, row[low]


def time_table(record, verdicts):
    rows = []
    for network, title, row in rows_of(record):
        time = row["time"]
        if "failed" in time:
            rows.append([f"{network} {title}", verdicts.of(f"time of {network} {title}", time["failed"], False)])
            continue
        cells = []
        for key, most in (("own_error", MOST_OWN_ERROR), ("lockstep", MOST_LOCKSTEP)):
            ratio = time[f"{key}_plain"]
            text = spread(ratio)
            if time["plain_ms"]["median"] >= LEAST_PLAIN_MS:
                text = verdicts.of(f"{key} of {network} {title}", text, ratio["median"] <= most)
            cells.append(text)
        effects = time["effects"]
        rows.append([f"{network} {title}", f"{time['plain_ms']['median']:.2f}", *cells,
                     f"{time['plain_side_by_side_ms']['median']:.2f}",
                     f"{time['own_error_plain_side_by_side']['median']:.2f}",
                     f"{time['lockstep_plain_side_by_side']['median']:.2f}",
                     f"{time['own_error_build_ms']['median']:.0f} / {time['lockstep_build_ms']['median']:.0f}",
                     f"{effects['trial_plain']:.2f} / {effects['work_share']:.2f}" if effects else "-"])
    head = ["network", "plain, ms", "own error", "lock-step", "plain side by side, ms", "own error / that", "lock-step / that",
            "build, ms: own error / lock-step", "trial: time / work"]
    return table(head, rows)


def memory_table(record, verdicts):
    rows = []
    for network, title, row in rows_of(record):
        peaks, time = row["memory"], row["time"]
        if "failed" in time or any("failed" in peak for peak in peaks.values()):
            rows.append([f"{network} {title}", verdicts.of(f"memory of {network} {title}", "no figure", False)])
            continue
        live, weights = time["largest_live_set_bytes"], time["weight_bytes"]
        most = peaks["plain"]["peak_bytes"] + 3 * live + weights + EXTRA_BYTES
        cells = []
        for phase in ("own-error", "lock-step"):
            few, many = sorted((peak for name, peak in peaks.items() if name.startswith(phase)), key=lambda p: p["samples"])
            text = f"{megabytes(few['peak_bytes'])} / {megabytes(many['peak_bytes'])} ({few['samples']} / {many['samples']})"
            grown = many["peak_bytes"] - few["peak_bytes"]
            met = many["peak_bytes"] <= most and grown <= GROWTH_BYTES + GROWTH_SHARE * few["peak_bytes"]
            cells.append(verdicts.of(f"memory of {phase} of {network} {title}", text, met))
        rows.append([f"{network} {title}", megabytes(peaks["plain"]["peak_bytes"]), f"{live / 1e6:.1f}", f"{weights / 1e6:.1f}",
                     megabytes(most), *cells])
    head = ["network", "plain, MB", "largest live set, MB", "weights, MB", "limit, MB", "own error, MB (samples)",
            "lock-step, MB (samples)"]
    return table(head, rows)


def case_row(case, verdicts):
    runs = [run for run in case["runs"] if "failed" not in run]
    name = f"`{case['model']} {' '.join(case['options'])}`"
    if not runs:
        return [name, verdicts.of(case["name"], f"exit code {case['runs'][0]['exit_code']}", False)]
    run = sorted(runs, key=lambda r: r["seconds"])[len(runs) // 2]
    if "layers" not in run:
        return [name, verdicts.of(case["name"], "no kept set", False)]
    kept = f"{len(run['layers'])}"
    if "most_kept" in case:
        kept = verdicts.of(f"kept in {case['name']}", f"{kept} of at most {case['most_kept']}",
                           len(run["layers"]) <= case["most_kept"])
    if "exactly" in case:
        kept = verdicts.of(f"kept in {case['name']}", " ".join(run["layers"]),
                           sorted(run["layers"]) == sorted(case["exactly"]))
    if "joined_by" in case:
        kept += ", " + verdicts.of(f"tensor between in {case['name']}", "joined by " + (" ".join(case["joined_by"]) or "nothing"),
                                   bool(case["joined_by"]))
    seconds = f"{run['seconds']:.1f} ({min(r['seconds'] for r in runs):.1f} to {max(r['seconds'] for r in runs):.1f})"
    if "most_seconds" in case:
        seconds = verdicts.of(f"time of {case['name']}", f"{seconds} of at most {case['most_seconds']}",
                              run["seconds"] <= case["most_seconds"])
    cpu = f"{run['cpu_seconds']:.1f}"
    evaluations = verdicts.of(f"evaluations in {case['name']}", str(run["evaluations"]),
                              run["evaluations"] <= len(run["layers"]) + FREE_EVALUATIONS)
    final = ", ".join(f"{output} {db(value)}" for output, value in run.get("final_figures", {}).items())
    return [name, run["samples"], kept, evaluations, seconds, cpu, ", ".join(f"{db(v)}" for v in run["all_low"].values()),
            verdicts.of(f"answer of {case['name']}", final, bool(run["passed"])), run["end"]]


def db(value):
    return value if isinstance(value, str) else f"{value:.2f}"


def case_table(record, verdicts):
    head = ["case", "samples", "kept", "evaluations", "seconds", "CPU seconds", "all low, dB", "written file, dB", "end"]
    return table(head, [case_row(case, verdicts) for case in record["cases"]])


def phase_table(record):
    named = [(case["name"], run) for case in record["cases"] for run in case["runs"][-1:] if "phases" in run]
    phases = list(dict.fromkeys(phase for _, run in named for phase in run["phases"]))
    return table(["case", *phases], [[name, *(f"{run['phases'].get(phase, 0):.2f}" for phase in phases)] for name, run in named])


def answer_table(record, verdicts):
    rows = []
    for network, title, row in rows_of(record):
        answer = row["answer"]
        if "failed" in answer:
            rows.append([f"{network} {title}", verdicts.of(f"answer of {network} {title}", answer["failed"][0], False)])
            continue
        figures = [", ".join(db(v) for v in answer.get(which, {}).values()) for which in ("all_low", "final_figures")]
        verdicts.of(f"answer of {network} {title}", "", bool(figures[1]))
        rows.append([f"{network} {title}", answer["samples"], *figures, f"{answer['seconds']:.1f}"])
    return table(["network", "samples", "simulated, all low, dB", "written file, dB", "seconds"], rows)


def toy_table(record):
    toys = record.get("search_toys", {"note": "", "rows": []})
    head = ["toy", "calls, mean", "95th percentile", "most", "kept, mean", "worst kept / optimum", "certified", "in budget"]
    keys = ("toy", "mean_calls", "p95_calls", "most_calls", "kept", "worst_over_optimum", "certified", "in_budget")
    return toys["note"], table(head, [[row[key] if key == "toy" else f"{row[key]:g}" for key in keys] for row in toys["rows"]])


def page(record):
    verdicts = Verdicts()
    machine = record["machine"]
    cases, time, memory = case_table(record, verdicts), time_table(record, verdicts), memory_table(record, verdicts)
    answers = answer_table(record, verdicts)
    toy_note, toys = toy_table(record)
    load = ", ".join(f"{value:.2f}" for value in machine["load_average_at_start"])
    end = ", ".join(f"{value:.2f}" for value in machine["load_average_at_end"])
    missed = f"{len(verdicts.missed)} missed: " + "; ".join(verdicts.missed) if verdicts.missed else "none missed"
    changed = " with uncommitted changes" if machine["source_changed_since_commit"] else ""
    return f"""# Benchmarks

Made by `bench/run` from `bench/results/main_job.json`; not edited by hand. {machine['date']}, commit {machine['commit'][:12]}{changed}.

{machine['cpu']}, {machine['usable_cores']} usable cores, {machine['memory_gib']} GiB, {machine['system']}; {machine['compiler']},
{machine['build_type']}; ONNX Runtime {machine['onnxruntime']}. Load average at the start {load}; at the end {end} (1, 5, 15 minutes):
well above the {machine['usable_cores']} cores, or not small at the start, means that others used the machine and times are too long.

Promises: {verdicts.met} met, {missed}.

## Searches

Whole commands as a user types them, typed model, verification of the written file and latency included; median of the runs
(smallest to largest). CPU seconds are summed over threads. Evaluations of the full sample set: at most kept + {FREE_EVALUATIONS}. For comparison, mobilenetv2-imagenet to 24 dB: the shortest
prefix keeps 41; NNCF's accuracy control takes 46 s and 156 evaluations for its own kept set (asymmetric, measured on a machine
of two cores).

{cases}

Seconds by phase, last run:

{phase_table(record)}

## Time of the measuring passes

In plain inferences: the original network in ONNX Runtime, all optimizations, two threads, initializers not listed as inputs.
Own error of all layers may cost {MOST_OWN_ERROR:g}, lock-step comparison {MOST_LOCKSTEP:g}, on networks whose plain inference takes {LEAST_PLAIN_MS:g} ms or more; the rest is
reported. Median over rounds that run all passes by turns in one process (smallest to largest); building the session is the
separate column. Vernier runs two samples side by side on one thread each, which is also faster for plain inference: the columns
"side by side" compare with that. "Trial" is one "only this layer low": its wall time in plain inferences (sessions built within,
two trials at a time) and the share of the network that it ran; recurrent networks run whole sequences instead.

{time}

## Memory of the measuring passes

Peak resident memory of a process that does nothing else (loading, reference run and calibration before it included), for few
and for many samples. Limit: plain inference + 3 x largest live set + weights + {megabytes(EXTRA_BYTES)} MB, and no more growth with samples
than {megabytes(GROWTH_BYTES)} MB + {100 * GROWTH_SHARE:g} %, which allocators do by themselves.

{memory}

## Every network, both ways

`vernier diagnose` without a requirement: everything low that can be, the typed file written and verified.

{answers}

## The search alone

{toy_note}.

{toys}
"""


if __name__ == "__main__":
    print(page(json.loads(RECORD.read_text())), end="")
