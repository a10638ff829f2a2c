"""How often a claim about new samples holds, by several rules; writes docs/records/claims.md
and docs/records/claims-networks.md.

    python bench/claims.py [--program build/release/apps/vernier/vernier] [--only NETWORK ...] [--sets 50] [--results FILE] [--render]
    python bench/claims.py --searches NAME [--program ...] [--only NETWORK ...] [--sets 8] [--results FILE]

A set of samples is cross-fitted as `diagnose` does it: `quantize` makes an INT8 file from each half, which the other half measures, and the
file of all samples, which new samples measure. Of each set every rule says what the SQNR exceeds with a confidence of 90 %. It *held* if as
many new samples as were given, or a hundred, have more: of ten draws of them each. Families are sets of made-up energies with a known truth.

The rules `t`, `worst` and `both` were chosen on the networks CHOSEN and the families, and are confirmed on the others. The rule `now` was
chosen with all of these known, and `predicted` with the families and the searches of SEARCHED. Both are confirmed on the networks CONFIRM.

--searches asks `diagnose` for 3 dB above what plain INT8 has on the given samples. The set that the search chose is judged by new samples.
NAME is `before` or `now`: of which program that is. Rules:

    before      the bootstrap-t, or the lower of two limits if that is higher: 5.57 samples like the worst, and log-normal noise
    bootstrap   the bootstrap-t alone
    log-normal  the lower end of log-normal noise (Cox), with Student's t
    t           R - t e: Student's t and the standard error of the pooled ratio
    worst       R - 10 log10(1 + (m - 1) p): new samples hold m times as many like the worst
    both        the lower of t and worst
    own         the lower of both on the halves, and of both on the file's own samples
    now         as own, with sqrt(2) e, the error of as many new samples
    predicted   as now, with m from Poisson's prediction, not from his limit: src/analysis/sampling_interval.h
"""
import argparse
import datetime
import functools
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnx

import claim_layers
from claim_networks import MADE
from held_out import outputs_of
from networks import ROOT, model_file, samples_of, save
from paragraph import filled, headed
from processor import processor

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

RESULTS = ROOT / "bench/results/claims.json"
PAGE = ROOT / "docs/records/claims.md"
BY_NETWORK = ROOT / "docs/records/claims-networks.md"
CHOSEN = ["images", "images of many sizes", "images of many sizes, separable", "vit-cifar"]
CONFIRM = ["vectors, few large", "images of many sizes, Softmax", "images, again", "images, third", "vectors of many sizes, again"]
SEARCHED = ["images", "images, Softmax", "images of many sizes, separable", "vectors, few large", "vectors of many sizes", "resnet8-cifar", "vit-cifar"]
WANTED_DB = 3
SHARED = ["resnet8-cifar", "vit-cifar"]
COUNTS = {10: 1, 30: 1, 60: 0.6}  # samples given: sets, as a share of --sets
NEW, DRAWS, POOL = 100, 10, 600
CONFIDENCE = 0.9
FEWEST_EFFECTIVE = 3  # samples: of a rule that refuses claims where few hold the error
DB = 10 / np.log(10)


def ratio(signal, noise):
    """Pooled SQNR in dB, and its standard error; of several sets in rows."""
    n = signal.shape[-1]
    pull = signal / signal.sum(-1, keepdims=True) - noise / noise.sum(-1, keepdims=True)
    return 10 * np.log10(signal.sum(-1) / noise.sum(-1)), DB * np.sqrt(n / (n - 1) * (pull ** 2).sum(-1))


@functools.cache
def student(c, degrees):
    """Abramowitz and Stegun 26.7.5."""
    z = statistics.NormalDist().inv_cdf(c)
    terms = [(z ** 3 + z) / 4, (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96, (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384]
    return z + sum(term / degrees ** (i + 1) for i, term in enumerate(terms))


@functools.cache
def events(c):
    """Garwood's upper limit where one event was seen."""
    low, high = 1.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.exp(-middle) * (1 + middle) > 1 - c else (low, middle)
    return low


@functools.cache
def new_events(c):
    """The same of as many new samples: (1 + s) / 2^s = 1 - c, less the one."""
    low, high = 1.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 + middle) * 2 ** -middle > 1 - c else (low, middle)
    return low - 1


def bootstrap(signal, noise):
    n = len(signal)
    chosen = np.random.default_rng(1).integers(0, n, (1000, n))
    (db, error), (drawn, errors) = ratio(signal, noise), ratio(signal[chosen], noise[chosen])
    off = drawn - db
    distances = np.sort(np.where(off == 0, 0, off / np.maximum(errors, error / 2)))
    return db - distances[int(CONFIDENCE * 1000)] * error


def log_normal(signal, noise, width):
    n, logs = len(noise), np.log(noise)
    median = np.median(logs)
    variance = 2 / (n - 2) * (np.maximum(logs - median, 0) ** 2).sum()
    return 10 * np.log10(signal.mean()) - DB * (median + variance / 2 + width * np.sqrt(variance / n + variance ** 2 / (2 * (n - 1))))


def before(signal, noise):
    like_worst = ratio(signal, noise)[0] - 10 * np.log10(1 + (events(0.975) - 1) * noise.max() / noise.sum())
    return max(bootstrap(signal, noise), min(like_worst, max(log_normal(signal, noise, 1.96), -6.02)))


def by_t(signal, noise, new=0, c=CONFIDENCE):
    """`new`: their error as well, as a share of that of the samples."""
    db, error = ratio(signal, noise)
    return db - student(c, len(signal) - 1) * np.sqrt(1 + new) * error


def by_worst(signal, noise, many=events(1 - (1 - CONFIDENCE) / 10)):
    pull = (noise / noise.sum() - signal / signal.sum()).max()
    return ratio(signal, noise)[0] - 10 * np.log10(1 + (many - 1) * pull)


RULES = {"before": before, "bootstrap": bootstrap, "log-normal": lambda s, n: log_normal(s, n, student(CONFIDENCE, len(s) - 1)),
         "t": by_t, "worst": by_worst, "both": lambda s, n: min(by_t(s, n), by_worst(s, n)),
         "as many": lambda s, n: min(by_t(s, n, new=1), by_worst(s, n)),
         "predicted": lambda s, n: min(by_t(s, n, new=1), by_worst(s, n, new_events(1 - (1 - CONFIDENCE) / 5)))}


def of_layers(searches=100):
    """As claim_layers.searched(), by the rules `as many` and `predicted`."""
    def of(many, unseen):
        def exceeded(noise, c):
            signal = np.full(len(noise), claim_layers.SIGNAL)
            return min(by_t(signal, noise, 1, c), by_worst(signal, noise, many(1 - (1 - c) / unseen)))
        return exceeded
    return claim_layers.searched(of(events, 10), of(new_events, 5), searches)


def families():
    """Signal and noise of `n` samples each."""
    def of(signal_spread, noise_of):
        def drawn(random, n):
            size = np.exp(signal_spread * random.standard_normal(n))
            return 100 * size, noise_of(random, n, size)
        return drawn
    def log_normal_noise(spread):
        return of(0, lambda r, n, _: np.exp(spread * r.standard_normal(n)))
    return {"log-normal noise, 0.3": log_normal_noise(0.3), "log-normal noise, 0.7": log_normal_noise(0.7), "log-normal noise, 1.5": log_normal_noise(1.5),
            "log-normal noise, 2": log_normal_noise(2), "Pareto noise, 2.5": of(0, lambda r, n, _: r.pareto(2.5, n) + 1),
            "Pareto noise, 1.5": of(0, lambda r, n, _: r.pareto(1.5, n) + 1),
            "3 of 100 samples hold 62 %": of(0, lambda r, n, _: np.where(r.random(n) < 0.03, 53, 1) * np.exp(0.3 * r.standard_normal(n))),
            "10 of 100 samples hold 69 %": of(0, lambda r, n, _: np.where(r.random(n) < 0.1, 20, 1) * np.exp(0.3 * r.standard_normal(n))),
            "log-normal signal, 1.2": of(1.2, lambda r, n, _: np.exp(0.3 * r.standard_normal(n))),
            "signal and noise, 1.2": of(1.2, lambda r, n, size: size * np.exp(0.5 * r.standard_normal(n)))}


def of_family(drawn, count, sets=500):
    signal, noise = drawn(np.random.default_rng(0), 2_000_000)
    truth, random, below, effective = ratio(signal, noise)[0], np.random.default_rng(count), {rule: [] for rule in RULES}, []
    random_new, new = np.random.default_rng(count + 1), []
    for _ in range(sets):
        signal, noise = drawn(random, count)
        new.append(ratio(*drawn(random_new, count))[0])
        effective.append(noise.sum() ** 2 / (noise ** 2).sum())
        for rule, exceeded in RULES.items():
            below[rule].append(truth - exceeded(signal, noise))
    found = {rule: {"held": round(100 * np.mean(np.array(off) >= 0)), "as many": round(100 * np.mean(np.array(off) >= truth - np.array(new))),
                    "below": round(float(np.median(off)), 2)} for rule, off in below.items()}
    claimed = np.array(effective) >= FEWEST_EFFECTIVE
    found["both, unless refused"] = {"claimed": round(100 * claimed.mean()), "held": round(100 * np.mean(np.array(below["both"])[claimed] >= 0))}
    return found


def energies(reference, got):
    """Of each sample, of the first output."""
    pairs = [(r[0], g[0]) for r, g in zip(reference, got)]
    return np.array([(r ** 2).sum() for r, _ in pairs]), np.array([((r - g) ** 2).sum() for r, g in pairs])


def draws_of(signal, noise, many, random):
    """The figure of so many of these samples, DRAWS times."""
    picks = [random.choice(len(signal), min(many, len(signal)), False) for _ in range(DRAWS)]
    return [float(ratio(signal[pick], noise[pick])[0]) for pick in picks]


class Network:
    def __init__(self, name, folder, program):
        self.name, self.folder, self.program = name, pathlib.Path(folder), program
        if name in SHARED:
            self.model, self.everything = model_file(name), samples_of(name, 130)
            self.all = outputs_of(self.model, self.everything)
        else:
            make, self.inputs = MADE[name]
            self.model = self.folder / "net.onnx"
            onnx.save(make(), self.model)
            self.new = self.inputs(POOL, 10 ** 6)
            self.new_reference = outputs_of(self.model, self.new)

    def split(self, count, seed):
        """Samples, new samples, and what the float model makes of both."""
        if self.name not in SHARED:
            given = self.inputs(count, 1000 * seed + count)
            return given, self.new, outputs_of(self.model, given), self.new_reference
        order = np.random.default_rng(seed + 5000).permutation(len(self.everything))
        given, new = order[:count], order[count:]
        return *([self.everything[i] for i in part] for part in (given, new)), *([self.all[i] for i in part] for part in (given, new))

    def quantized(self, samples):
        out = self.folder / "low.onnx"
        data = save(self.folder, "samples", samples)
        subprocess.run([self.program, "quantize", str(self.model), "--int8", "--data", str(data), "-o", str(out)], check=True, capture_output=True)
        return out

    def one_set(self, count, seed):
        """What each rule says, the figure itself, and the SQNR of new samples: as many, and a hundred."""
        given, new, reference, new_reference = self.split(count, seed)
        order = np.random.default_rng(seed).permutation(count)
        signal, noise = np.zeros(count), np.zeros(count)
        for learns, judges in ((order[:count // 2], order[count // 2:]), (order[count // 2:], order[:count // 2])):
            got = outputs_of(self.quantized([given[i] for i in learns]), [given[i] for i in judges])
            signal[judges], noise[judges] = energies([reference[i] for i in judges], got)
        file = self.quantized(given)
        own = energies(reference, outputs_of(file, given))
        new_signal, new_noise = energies(new_reference, outputs_of(file, new))
        random = np.random.default_rng(seed)
        def draws(many):
            return draws_of(new_signal, new_noise, many, random)
        said = {rule: float(exceeded(signal, noise)) for rule, exceeded in RULES.items()}
        said["own"] = min(said["both"], float(RULES["both"](*own)))
        said["now"] = min(said["as many"], float(RULES["as many"](*own)))
        said["predicted"] = min(said["predicted"], float(RULES["predicted"](*own)))
        figure, error = ratio(signal, noise)
        return {"said": said, "figure": float(figure), "error": float(error), "own": float(ratio(*own)[0]), "as many": draws(count), "hundred": draws(NEW)}


    def one_search(self, count, seed):
        """Whether the claims of a chosen set hold on as many new samples, and what is kept."""
        given, new, _, new_reference = self.split(count, seed)
        data, out = save(self.folder, "samples", given), self.folder / "out"
        def diagnose(*limit):
            done = subprocess.run([self.program, "diagnose", str(self.model), "--int8", "--options", "0", "--data", str(data), "--no-latency", "--json",
                                   "-o", str(out), *limit], check=False, capture_output=True, text=True)
            report = json.loads(done.stdout)
            figures = report.get("final_figures") or report["all_low"]
            return report, figures, figures["outputs"][0]
        limit = round(diagnose()[2]["sqnr_db"] + WANTED_DB, 2)
        start = time.perf_counter()
        report, figures, output = diagnose("--min-sqnr", str(limit))
        seconds = time.perf_counter() - start
        energy = energies(new_reference, outputs_of(out / "model.onnx", new))
        drawn, kept, between = np.array(draws_of(*energy, count, np.random.default_rng(seed))), report["kept"], output["sqnr_db_95_percent"]
        return {"passed": figures["passed"], "held": np.mean(drawn >= output["sqnr_db_above"]), "met": np.mean(drawn >= limit),
                "inside": between["low"] <= ratio(*energy)[0] <= between["high"], "macs": kept["kept_macs"] / max(kept["total_macs"], 1), "seconds": seconds}


def of_searches(found):
    claimed = [one for one in found if one["passed"]]
    row = {key: round(100 * float(np.mean([one[key] for one in some]))) for some, keys in ((claimed, ("held", "met")), (found, ("inside", "macs"))) for key in keys}
    return {"sets": len(found), "claimed": len(claimed), **row, "seconds": round(float(np.median([one["seconds"] for one in found])), 2)}


def of_sets(sets):
    found = {}
    for rule in sets[0]["said"]:
        held = {new: round(100 * np.mean([np.mean(np.array(one[new]) >= one["said"][rule]) for one in sets])) for new in ("as many", "hundred")}
        found[rule] = {**held, "below": round(float(np.median([one["figure"] - one["said"][rule] for one in sets])), 2)}
    return found


def gap_of(sets):
    """How far new samples are from the figure of the halves: the mean, its spread, and the standard error that the samples show; in dB."""
    gaps = [np.mean(one["hundred"]) - one["figure"] for one in sets]
    return {"mean": round(float(np.mean(gaps)), 2), "spread": round(float(np.std(gaps)), 2),
            "error": round(float(np.median([one["error"] for one in sets])), 2), "own": round(float(np.mean([one["own"] - one["figure"] for one in sets])), 2)}


def mean(rows, rule, what):
    return np.mean([row["rules"][rule][what] for row in rows])


def searches_text(rows):
    """Of networks and counts that both programs searched."""
    found = {(row["network"], row["samples"], row["program"]): row for row in rows}
    both = [key[:2] for key in found if key[2] == "before" and (*key[:2], "now") in found]
    if not both:
        return []
    lines = ["## After a search", "",
             filled(f"`diagnose` was asked for {WANTED_DB} dB above what plain INT8 has on the given samples. Before → now, of the same sets. Networks: "
                    + "; ".join(dict.fromkeys(name for name, _ in both)) + ". The rule was chosen on others: " + "; ".join(SEARCHED)
                    + ". Since then a pooled gain no longer counts under a heavy tail, which asks for more."), "",
             "| samples given | sets | bounds that hold | requirements met | figures inside | kept multiply-accumulates |", "|---|" + "---:|" * 5]
    for count in sorted({count for _, count in both}):
        pairs = [[found[name, count, program] for name, other in both if other == count] for program in ("before", "now")]
        cells = [" → ".join(f"{np.average([row[key] for row in some], weights=[row['sets'] for row in some]):.0f} %" for some in pairs)
                 for key in ("held", "met", "inside", "macs")]
        lines.append(f"| {count} | {sum(row['sets'] for row in pairs[0])} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def layers_text(rows):
    cells = {}
    for row in rows:
        for rule, found in row["rules"].items():
            cells.setdefault((row["family"], rule), {})[row["samples"]] = f"{found['held']} %, {found['met']} %, {found['kept']}"
    counts = sorted({row["samples"] for row in rows})
    return ["## Searches over layers of known noise", "",
            filled("Six layers, and the fewest that gain 3 dB on the samples: of 100 searches, bounds that hold and limits met on as many new samples, and kept layers. "
                   "*Own figures*: as if the set were not chosen. *Halves*: half of the samples choose and the other half confirms, up to four times. *Former* and *now*: "
                   "a chosen set exceeds no more than everything low plus the gain of the kept layers."), "",
            "| family | rule | " + " | ".join(f"{count} samples" for count in counts) + " |", "|---|---|" + "---:|" * len(counts),
            *(f"| {family} | {rule} | " + " | ".join(found.get(count, "-") for count in counts) + " |" for (family, rule), found in cells.items()), ""]


def render():
    kept = json.loads(RESULTS.read_text())
    nets, made = kept["networks"], kept["families"]
    lines = [*headed("Claims about new samples", PAGE),
             filled("For readers who ask how often *On as many new samples: above Y, 90 % sure* holds, and why the rule is what it is."), "",
             filled("Made by `bench/claims.py` from [bench/results/claims.json](../../bench/results/claims.json): INT8, target TensorRT, "
                    f"{kept['version']}. {kept['date']}, {kept['machine']}. [Figures of each network](claims-networks.md)."), "",
             filled("A set of samples is cut in half. Each half is measured on the INT8 file of the other, and new samples measure the file of the "
                    "whole set. *Held*: new samples have a higher SQNR than the rule says, with a hundred of them and with as many as were given. "
                    "*Below*: how far the rule goes below the figure, the median of the sets."), ""]
    names = {"before": "bootstrap-t with two limits", "bootstrap": "bootstrap-t", "log-normal": "log-normal noise", "t": "Student's t",
             "worst": "the worst *m* times", "both": "the lower of both", "own": "and of the file's own samples", "now": "with the error of as many new samples",
             "predicted": "with as many bad ones predicted: now"}
    former = [row for row in nets if row["network"] not in CONFIRM]
    parts = (("Networks that former rules were chosen on", [row for row in former if row["network"] in CHOSEN]),
             ("Networks that confirmed them", [row for row in former if row["network"] not in CHOSEN]),
             ("Networks that confirmed the rule before", [row for row in nets if row["network"] in CONFIRM and "predicted" not in row["rules"]]),
             ("Networks that confirm the rule of now", [row for row in nets if row["network"] in CONFIRM and "predicted" in row["rules"]]))
    for title, some in parts:
        if not some:
            continue
        lines += [f"## {title}", "", filled("; ".join(dict.fromkeys(row["network"] for row in some)) + "."), "",
                  "| rule | " + " | ".join(f"{count} samples: held of 100, of as many | below, dB" for count in COUNTS) + " |",
                  "|---|" + "---:|---:|" * len(COUNTS)]
        for rule, words in names.items():
            if any(rule not in row["rules"] for row in some):
                continue
            cells = []
            for count in COUNTS:
                rows = [row for row in some if row["samples"] == count]
                cells += ["-", "-"] if not rows else [f"{mean(rows, rule, 'hundred'):.0f} %, {mean(rows, rule, 'as many'):.0f} %", f"{mean(rows, rule, 'below'):.1f}"]
            lines.append(f"| {words} | " + " | ".join(cells) + " |")
        lines.append("")
    lines += [filled("The last rows of the first two tables were chosen with both known, so only later tables confirm a rule."), "",
              *searches_text(kept.get("searches", [])), *layers_text(kept.get("layers", []))]
    by_network = [*headed("Claims about new samples, by network", BY_NETWORK),
                  filled("For readers of [Claims about new samples](claims.md) who want the figures behind it: of each network, and of noise with a known truth."), "",
                  "## Each network", "",
              filled("Held on a hundred new samples, by the bootstrap-t with two limits and by the last rule measured, and how far below the figure in dB."), "",
              "| network | " + " | ".join(f"{count} samples" for count in COUNTS) + " |", "|---|" + "---:|" * len(COUNTS)]
    for name in dict.fromkeys(row["network"] for row in nets):
        found = {row["samples"]: (row["rules"]["before"], row["rules"].get("predicted", row["rules"].get("now", row["rules"]["own"]))) for row in nets if row["network"] == name}
        by_network.append(f"| {name} | " + " | ".join(
            f"{found[c][0]['hundred']} % → {found[c][1]['hundred']} %; {found[c][0]['below']:.1f} → {found[c][1]['below']:.1f}"
            if c in found else "-" for c in COUNTS) + " |")
    by_network += ["", "## The file of all samples", "",
              filled("The halves measure files of half as many samples. How far new samples are from the figure of the halves, in dB: mean and spread over the "
                     "sets. In brackets: the standard error that a set shows, the median."), "",
              "| network | " + " | ".join(f"{count} samples" for count in COUNTS) + " |", "|---|" + "---:|" * len(COUNTS)]
    for name in dict.fromkeys(row["network"] for row in nets):
        found = {row["samples"]: row["gap"] for row in nets if row["network"] == name}
        by_network.append(f"| {name} | " + " | ".join(
            f"{found[c]['mean']:+.1f} ± {found[c]['spread']:.1f} ({found[c]['error']:.1f})" if c in found else "-" for c in COUNTS) + " |")
    by_network += ["", "## Energies with a known truth", "",
              filled("Held of the truth and of as many new samples, and how far below the truth in dB. Left: with the error of new samples. Right: with as many bad "
                     "ones predicted, too."), "",
              "| family | 10 samples | 30 samples | 100 samples |", "|---|---:|---:|---:|"]
    refused = {}
    for name in dict.fromkeys(row["family"] for row in made):
        found = {row["samples"]: row["rules"] for row in made if row["family"] == name}
        refused[name] = found[10]["both, unless refused"], found[10]["both"]
        by_network.append(f"| {name} | " + " | ".join(
            " → ".join(f"{r[rule]['held']} %, {r[rule]['as many']} %, {r[rule]['below']:.1f}" for rule in ("as many", "predicted")) for r in found.values()) + " |")
    less, all_sets = refused["log-normal noise, 1.5"]
    own_error = [", ".join(str(row["rules"][rule]["as many"]) for row in made if row["family"] == "log-normal signal, 1.2") for rule in ("both", "as many")]
    lines += ["## Why this rule", "",
              filled("- Bootstrap-t and Student's t know nothing of samples worse than the worst. From few samples, both claim too much of skewed noise."), "",
              filled("- Log-normal noise holds for log-normal noise, but neither for three bad samples in a hundred nor for inputs of different size."), "",
              filled(f"- Refusing a claim if few samples hold the error makes it worse. Such sets have seen the bad samples: those without them would still "
                     f"claim. Of log-normal noise with 1.5 and 10 samples, {less['claimed']} % of the sets have at least {FEWEST_EFFECTIVE} effective samples (the inverse of "
                     f"the sum of squared shares). Claims hold in {less['held']} % of them, and in {all_sets['held']} % of all sets. So the headline adds words, "
                     "and the claim stays."), "",
              filled(f"- New samples have an error of their own. Without it, with a log-normal signal and 10, 30 and 100 samples, {own_error[0]} of 100 claims hold. "
                    f"With it {own_error[1]} do."), "",
              filled("- A sample like the worst was seen once. New samples hold it at most 6.6 times by Poisson's limit, with 99 %. That limit takes its rate for "
                     "known: as many new samples hold it 8.0 times with 98 %."), "",
              filled("- A search picks the set that these samples like. So a chosen set exceeds no more than everything low does, plus the gain of the kept layers less "
                     "its standard error. The gain is that of all noise or of the typical sample. A gain that one sample makes counts nothing. Samples that no trial saw confirm "
                     "less often, as they are fewer and are asked several times. The price: if one layer breaks few samples, more layers are kept than are needed."), "",
              filled("- Nothing in 10 samples shows that one new sample in 30 saturates a range. A set without such a sample claims too much, whatever the rule. "
                     "Inputs of many sizes, 10 samples: claims hold less often than before, and are 9 dB closer to the figure.")]
    PAGE.write_text("\n".join(lines) + "\n")
    BY_NETWORK.write_text("\n".join(by_network) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build/release/apps/vernier/vernier"))
    parser.add_argument("--only", nargs="*", default=[*SHARED, *MADE])
    parser.add_argument("--sets", type=int, default=50)
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--searches", choices=("before", "now"))
    parser.add_argument("--render", action="store_true")
    given = parser.parse_args()
    if given.render:
        return render()
    kept = json.loads(given.results.read_text()) if given.results.exists() else {"networks": []}
    kept["version"] = subprocess.run([given.program, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    kept["machine"], kept["date"] = f"{processor()}, {len(os.sched_getaffinity(0))} usable cores", datetime.date.today().isoformat()
    if not given.searches:
        kept["families"] = [{"family": name, "samples": count, "rules": of_family(drawn, count)} for name, drawn in families().items() for count in (10, 30, 100)]
        kept["layers"] = of_layers()
    for name in given.only:
        with tempfile.TemporaryDirectory() as folder:
            network = Network(name, folder, given.program)
            for count, share in COUNTS.items():
                seeds = range(round(share * given.sets))
                if given.searches:
                    row = {"network": name, "samples": count, "program": given.searches,
                           **of_searches([network.one_search(count, seed + 100) for seed in seeds])}
                    part, key = "searches", ("network", "samples", "program")
                else:
                    sets = [network.one_set(count, seed) for seed in seeds]
                    row = {"network": name, "samples": count, "sets": len(sets), "gap": gap_of(sets), "rules": of_sets(sets)}
                    part, key = "networks", ("network", "samples")
                kept[part] = [r for r in kept.get(part, []) if any(r[k] != row[k] for k in key)] + [row]
                given.results.write_text(json.dumps(kept, indent=1) + "\n")
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
