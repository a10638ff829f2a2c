"""What a whole `diagnose` takes and what it has to compute, in plain passes; the programs of several commits can be asked.

A plain pass is the float32 network in ONNX Runtime over all samples, two side by side on one thread each.
"""
import collections
import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

ALONE = ["--no-latency", "--no-options", "--no-split"]  # the diagnosis alone; an older program may lack some
NEAR = 0.5  # of the allowance: from there on a written file is measured in another order of sums too (src/jobs/verify/near_limit.cpp)
SENSITIVITY = ("sensitivity", "effect on the output")  # what commits called the phase


@dataclasses.dataclass
class Run:
    report: dict | None  # None: nothing was written
    seconds: float
    cpu_seconds: float  # of all threads: what was computed, however busy the machine was
    exit_code: int
    said: str


@functools.cache
def help_of(program):
    asked = [subprocess.run([program, "diagnose", word], capture_output=True, text=True) for word in ("--help", "--help-all")]
    return "".join(done.stdout for done in asked)


def understood(program, words):
    """`words`, without those of ALONE that an older program lacks."""
    return [str(word) for word in words if word not in ALONE or word in help_of(program)]


def cpu_seconds():
    """Of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def diagnose(program, words, folder=None):
    """One call of the product. Its files are in `folder`/out afterwards, if one is named; what is there goes."""
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            return diagnose(program, words, temporary)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / "out/report.json"
    written.unlink(missing_ok=True)
    words = understood(program, words)
    start, cpu_start = time.perf_counter(), cpu_seconds()
    done = subprocess.run([program, "diagnose", *words, "-o", "out"], cwd=folder, capture_output=True, text=True)
    seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu_start
    report = json.loads(written.read_text()) if written.exists() else None
    return Run(report, seconds, cpu, done.returncode, done.stderr.strip())


def plain_pass(model, feeds):
    """Seconds of one pass over the samples, two side by side. `feeds`: by input, or one value each for the first input."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    feeds = [feed if isinstance(feed, dict) else {name: feed} for feed in feeds]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            list(pool.map(lambda feed: session.run(None, feed), feeds))
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def phase_seconds(report):
    """A phase may come more than once: what the file misses is searched for again."""
    seconds = collections.Counter()
    for phase in report["phases"]:
        name = SENSITIVITY[0] if phase["phase"] in SENSITIVITY else phase["phase"]
        seconds[name] += phase["seconds"]
    return seconds


def verified_passes(report):
    """Written files over all samples, in each order of sums they were measured in. Outputs of the reference are known by then."""
    files = sum(phase["phase"] == "verify" for phase in report["phases"])
    sums = 2 if report.get("other_sums") else 1
    if files == 0 or "requirement" not in report:
        return sums * files
    damage = report["final_figures"]["damage"]
    near = isinstance(damage, (int, float)) and NEAR <= damage <= 1 / NEAR
    # What was searched on from had passed as simulated, and missed as written: it is near the limit.
    return sums * files + files - 1 + near


def limit_of(report, share):
    """Plain passes that the command has to compute: what it takes if rounding, comparing and building sessions were free.

    `share`: of the network, that one layer's sensitivity runs. Only a report without a search needs it: a search counts its own.
    """
    samples = report["samples"]
    if kept := report.get("kept"):
        # Nothing kept and all kept count as trials, but are the lock-step and the reference run.
        layers = sum(row["format"] != report["high"] for row in report["layers"])
        known = [test for test in kept["tests"] if len(test["layers"]) in ({0} if "all_high" in report else {0, layers})]
        inferences = kept["sample_inferences"] - sum(test["samples"] for test in known)
        return inferences / samples + verified_passes(report)
    reference_own_low = 3
    # On four samples, fewer of a large network, but never fewer than two (src/jobs/diagnose/single_sensitivities.cpp).
    alone = share * min(samples, 4) / samples * sum("sensitivity_db" in row for row in report["layers"])
    curve = sum("measured_sqnr_db" in point for point in report["curve"] if point["kept"] > 0)
    return reference_own_low + alone + curve + verified_passes(report)
