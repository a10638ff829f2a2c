"""docs/records/main-job*.md from bench/results/main_job.json.  python bench/tables.py

Every number of the page comes from the record; what misses its promise is marked and counted.
"""
import json
import math
import pathlib
import statistics

from paragraph import filled, headed, write_pages
from passes import ALONE

RECORD = pathlib.Path(__file__).resolve().parent / "results" / "main_job.json"
PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/records/main-job.md"
MOST_OWN_ERROR = 3.5  # plain inferences
MOST_LOCKSTEP = 4.0
LEAST_PLAIN_MS = 3.0  # below it the promise on time does not hold: fixed costs of a session's nodes rule there
EXTRA_BYTES = 100e6
GROWTH_BYTES = 8e6  # what an allocator's luck may add between few and many samples, and a share of the whole
GROWTH_SHARE = 0.03
FREE_EVALUATIONS = 12  # beyond one for each kept layer
FORMATS = {"int8": "INT8", "float16": "FP16"}
TRIED: list[str] = [  # and did not pay
    "**Sessions from the optimizer's graph** build several times as fast, but still once per set: one session for all plans won.",
    "**Shared prepacked weights**: on x86 the optimizer lays out the weights of convolutions and leaves little packing to share.",
    "**An operator that chooses between formats** at run time, instead of weights as inputs: it ends the blocked layout in front of each layer.",
    "**Leaving freed blocks with the C library** if weights exceed 8 MB: a little faster, for much more memory.",
    "**Sixteen parts of a search session instead of eight**: trials start closer to their changes. They keep 8 MB a photograph of MobileNetV2 instead of 2 MB, which costs "
    "as much as it saves.",
    "**Parts of equally many nodes**: the first of eight took a third of a run. Now they have equal work.",
    "**Sensitivities of YOLOX in the parts of the search session**, instead of a session for each segment without unused switches: 1.1 of the time. MobileNetV2, with "
    "2 MB a photograph between the parts, is faster that way, and uses it.",
    "**Cached activations for trials of YOLOX**, 10 MB a photograph: a tenth slower than running them from the start. They run in one part.",
    "**Sessions without the runtime's arena**: as fast, for more memory. For tensors of a few kilobytes, one block that is planned ahead replaces the arena.",
]


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
    head = ["network", "plain, ms", "local error", "lock-step", "plain side by side, ms", "local error / that", "lock-step / that",
            "build, ms: local error / lock-step", "trial: time / work"]
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
    head = ["network", "plain, MB", "largest live set, MB", "weights, MB", "limit, MB", "local error, MB (samples)",
            "lock-step, MB (samples)"]
    return table(head, rows)


def good(row, commit):
    """Runs of a commit that gave an answer."""
    return [run for run in row["runs"].get(commit, []) if "failed" not in run]


def seconds_of(row, commit):
    """Median, or None where nothing ran."""
    return statistics.median(run["seconds"] for run in good(row, commit)) if good(row, commit) else None


def whole_cells(row):
    """Seconds of the old commit; passes of both; limit."""
    old, new = seconds_of(row, "old"), seconds_of(row, "new")
    plain = statistics.median(row["plain_seconds"]) if row["plain_seconds"] else None
    in_passes = [f"{seconds / plain:.0f}" if seconds and plain else "-" for seconds in (old, new)]
    return f"{old:.2f}" if old else "-", *in_passes, f"{good(row, 'new')[-1]['limit']:.1f}"


def case_row(case, verdicts):
    name = f"`{case['model']} {' '.join(case['options'])}`"
    runs = good(case, "new")
    if not runs:
        return [name, verdicts.of(case["name"], f"exit code {case['runs']['new'][0]['exit_code']}", False)]
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
    seconds = f"{run['seconds']:.2f} ({min(r['seconds'] for r in runs):.2f} to {max(r['seconds'] for r in runs):.2f})"
    if "most_seconds" in case:
        seconds = verdicts.of(f"time of {case['name']}", f"{seconds} of at most {case['most_seconds']}",
                              run["seconds"] <= case["most_seconds"])
    evaluations = verdicts.of(f"evaluations in {case['name']}", str(run["evaluations"]),
                              run["evaluations"] <= len(run["layers"]) + FREE_EVALUATIONS)
    final = ", ".join(f"{output} {db(value)}" for output, value in run.get("final_figures", {}).items())
    old = good(case, "old")
    return [name, run["samples"], kept, evaluations, seconds, f"{run['cpu_seconds']:.1f}",
            f"{len(old[0]['layers'])} / {old[0]['evaluations']}" if old else "-", *whole_cells(case),
            ", ".join(f"{db(v)}" for v in run["all_low"].values()),
            verdicts.of(f"answer of {case['name']}", final, bool(run["passed"])), run["end"]]


def db(value):
    return value if isinstance(value, str) else f"{value:.2f}"


def case_table(record, verdicts):
    head = ["case", "samples", "kept", "evaluations", "seconds", "CPU seconds", "old: kept / evaluations", "old, s", "old, passes", "passes",
            "limit", "all low, dB", "output model, dB", "end"]
    return table(head, [case_row(case, verdicts) for case in record["cases"]])


def phases_of(runs):
    """Median seconds of each phase, and what no phase takes: the start, and what is written at the end."""
    named = dict.fromkeys(phase for run in runs for phase in run["phases"])
    seconds = {phase: statistics.median(run["phases"].get(phase, 0) for run in runs) for phase in named}
    return {**seconds, "the rest": statistics.median(run["seconds"] - sum(run["phases"].values()) for run in runs)}


def phase_table(first, named):
    """`named`: pairs of a row's name and its runs. Phases in their order, of whatever command had most of them."""
    rows = [(name, phases_of(runs)) for name, runs in named if runs]
    longest = sorted((phases for _, phases in rows), key=len, reverse=True)
    phases = list(dict.fromkeys(phase for phases in longest for phase in phases if phase != "the rest"))
    return table([first, *phases, "the rest"], [[name, *(f"{seconds.get(phase, 0):.2f}" for phase in (*phases, "the rest"))]
                                                for name, seconds in rows])


def case_phases(record):
    return phase_table("case", [(f"{case['name']}{mark}", good(case, commit)) for case in record["cases"]
                                for commit, mark in (("old", ", old"), ("new", ""))])


def network_phases(record):
    return phase_table("network", [(f"{network} {title}", good(row["whole"], "new")) for network, title, row in rows_of(record)])


def answer_table(record, verdicts):
    rows = []
    for network, title, row in rows_of(record):
        whole = row["whole"]
        answers = good(whole, "new")
        if not answers:
            failed = whole["runs"]["new"][0]["failed"]
            rows.append([f"{network} {title}", verdicts.of(f"answer of {network} {title}", " ".join(failed[:1]), False)])
            continue
        answer = answers[0]
        figures = [", ".join(db(v) for v in answer.get(which, {}).values()) for which in ("all_low", "final_figures")]
        verdicts.of(f"answer of {network} {title}", "", bool(figures[1]))
        plain = 1000 * statistics.median(whole["plain_seconds"])
        old, *rest = whole_cells(whole)
        rows.append([f"{network} {title}", answer["samples"], *figures, f"{plain:.2f}", old, f"{seconds_of(whole, 'new'):.2f}", *rest])
    return table(["network", "samples", "simulated, all low, dB", "output model, dB", "plain pass, ms", "old, s", "seconds",
                  "old, passes", "passes", "limit"], rows)


def against_old(record):
    """One sentence on both commits; none where only one was measured."""
    pairs = [(seconds_of(row["whole"], "new"), seconds_of(row["whole"], "old")) for _, _, row in rows_of(record)]
    ratios = [new / old for new, old in pairs if new and old]
    if not ratios:
        return ""
    mean = math.exp(statistics.mean(math.log(ratio) for ratio in ratios))
    faster = sum(ratio < 1 for ratio in ratios)
    return f"\n\nAgainst *old*: {mean:.2f} of its time, the geometric mean; {faster} of {len(ratios)} rows are faster."


def usual_and_others(counts):
    """"3 (1 of style-candy)" of counts by network."""
    usual = statistics.mode(counts.values())
    others = ", ".join(f"{count} of {network}" for network, count in sorted(counts.items()) if count != usual)
    return f"{usual}" + (f" ({others})" if others else "")


def runs_text(record):
    return usual_and_others({network: len(row["int8"]["whole"]["runs"]["new"]) for network, row in record["networks"].items()})


def rounds_text(record):
    return usual_and_others({network: row["int8"]["time"].get("rounds", 0) for network, row in record["networks"].items()}) + " rounds"


def processes_text(record):
    return usual_and_others({network: max(peak.get("processes", 1) for peak in row["int8"]["memory"].values())
                             for network, row in record["networks"].items()}) + " processes"


def tried_section():
    if not TRIED:
        return ""
    return "\n## Experiments that did not pay\n\n" + "\n".join(filled(f"- {text}") for text in TRIED) + "\n"


def toy_table(record):
    toys = record.get("search_toys", {"note": "", "rows": []})
    head = ["toy", "calls, mean", "95th percentile", "most", "kept, mean", "worst kept / optimum", "certified", "in budget"]
    keys = ("toy", "mean_calls", "p95_calls", "most_calls", "kept", "worst_over_optimum", "certified", "in_budget")
    return toys["note"], table(head, [[row[key] if key == "toy" else f"{row[key]:g}" for key in keys] for row in toys["rows"]])


def commits_text(machine):
    changed = " with uncommitted changes" if machine["source_changed_since_commit"] else ""
    old = f"; *old* is commit {machine['old_commit'][:12]}" if "old_commit" in machine else "; no older commit was measured"
    return f"commit {machine['commit'][:12]}{changed}{old}"


def page(record):
    verdicts = Verdicts()
    machine = record["machine"]
    cases, time, memory = case_table(record, verdicts), time_table(record, verdicts), memory_table(record, verdicts)
    answers = answer_table(record, verdicts)
    toy_note, toys = toy_table(record)
    load = ", ".join(f"{value:.2f}" for value in machine["load_average_at_start"])
    end = ", ".join(f"{value:.2f}" for value in machine["load_average_at_end"])
    about = "\n".join([
        filled("For readers who ask what `vernier diagnose` costs: time, memory and searches on the 13 shared networks, with every missed goal."), "",
        filled(f"Made by `bench/run` from `bench/results/main_job.json`. {machine['date']}, {commits_text(machine)}. {machine['cpu']}, {machine['usable_cores']} usable "
               f"cores, {machine['memory_gib']} GiB, {machine['system']}; {machine['compiler']}, {machine['build_type']}; ONNX Runtime {machine['onnxruntime']}. It took "
               f"{machine['minutes']:.0f} minutes."), "",
        filled(f"Load average at the start {load}; at the end {end} (1, 5, 15 minutes)."), "",
        f"Goals: {verdicts.met} met, {len(verdicts.missed) or 'none'} missed{':' if verdicts.missed else '.'}", "",
        *(f"- {what}" for what in verdicts.missed)])
    passes = "\n".join([
        filled(f"Whole commands are `vernier diagnose` with `{' '.join(ALONE)}` and nothing kept from an earlier run. They include the typed model and its verification. "
               f"Both commits run in turns, median of {runs_text(record)}."), "",
        filled("- *passes*: seconds over one plain pass, measured before each turn. A plain pass is the FP32 network in ONNX Runtime over the same samples, two side by side on "
               "one thread each. If an inference takes less than about a millisecond, the calls from Python are a good part of it."),
        filled("- *limit*: the computation in plain passes, if rounding, comparing and building sessions were free. It is the reference run, local errors, everything low, "
               "sensitivities by the share of the network that they run, estimates, trials and the output model in each order of sums."),
        filled("- A trial counts whole in *limit*, although it starts from cached activations. Causes and pictures are not in it.")])
    searches = filled(f"Median of the runs (smallest to largest). CPU seconds are summed over threads. Evaluations of the full sample set: at most kept + {FREE_EVALUATIONS}. If "
                      "*old* keeps another number of layers, its rules or its search were different. For comparison, mobilenetv2-imagenet to 24 dB: the shortest prefix keeps "
                      "41. NNCF's accuracy control takes 46 s and 156 evaluations for its own kept set (asymmetric, measured on a machine of two cores).")
    measuring = "\n".join([
        filled("In plain inferences: the original network in ONNX Runtime, all optimizations, two threads, initializers not listed as inputs. Local errors of all layers may cost "
               f"{MOST_OWN_ERROR:g}, lock-step comparison {MOST_LOCKSTEP:g}, on networks with a plain inference of {LEAST_PLAIN_MS:g} ms or more. Median over {rounds_text(record)} "
               "that run all passes by turns in one process (smallest to largest)."), "",
        filled("- Building the session is a separate column."),
        filled("- *side by side* compares with two plain inferences at once on one thread each, as Vernier runs samples, which is faster."),
        filled("- *trial* is one run with only this layer low, two at a time, sessions included. The columns are its wall time in plain inferences and the share of the network "
               "that it ran. Recurrent networks run whole sequences.")])
    memory_about = filled("Peak resident memory of a process that does nothing else, loading, reference run and calibration included, for few and for many samples; the middle of "
                          f"{processes_text(record)}. Limit: plain inference + 3 x largest live set + weights + {megabytes(EXTRA_BYTES)} MB. Growth with samples may be "
                          f"{megabytes(GROWTH_BYTES)} MB + {100 * GROWTH_SHARE:g} %, which allocators cause by themselves.")
    head = "\n".join(headed("Benchmarks", PAGE))
    return f"""{head}
{about}

## Whole commands, in passes

{passes}

## Searches

{searches}

{cases}

Seconds by phase, medians. *The rest* is the start of the program and unmeasured work:

<!-- not prose: phases as the program names them -->
{case_phases(record)}

## Time of the measuring passes

{measuring}

{time}

## Memory of the measuring passes

{memory_about}

{memory}

## Every network, both ways

`vernier diagnose` without a requirement: every possible layer low, the output model verified.{against_old(record)}

{answers}

Seconds by phase, medians:

<!-- not prose: phases as the program names them -->
{network_phases(record)}

## The search alone

{toy_note}.

{toys}
{tried_section()}"""


def write(record):
    write_pages(PAGE, page(record), {
        "## Time of the measuring passes": (
            "main-job-passes.md", "Time and memory of the passes",
            "For readers who ask what local errors and the lock-step comparison cost. [The main job](main-job.md) has the machine, the commits and "
            "all goals."),
        "## Every network, both ways": (
            "main-job-networks.md", "Every network, and the search alone",
            "For readers who look for one network, or for the search without a network. [The main job](main-job.md) has the machine, the commits and "
            "all goals.")})


if __name__ == "__main__":
    write(json.loads(RECORD.read_text()))
