"""Searches over six layers whose noise is known, for bench/claims.py: which bounds of a chosen set hold.

The noise of a sample is the sum over its layers that are low. All 64 sets are tried, those of fewest layers first, until one has 3 dB more
than everything low by the rule. Then as many new samples judge it. Rules:

    own figures    the bound of each set by its own noise, as if it had not been chosen
    former         no more than everything low, plus the typical gain; or, without a heavy tail, the bound with 99.5 %
    halves         half of the samples choose, the others confirm, up to four times
    now            no more than everything low, plus the larger of both gains less its standard error
"""
import numpy as np

LAYERS, WANTED_DB, DB = 6, 3, 10 / np.log(10)
SETS = sorted(range(2 ** LAYERS), key=lambda kept: kept.bit_count())
LOW = np.array([[1 - (kept >> layer & 1) for kept in SETS] for layer in range(LAYERS)])
SIGNAL = 1000.0


def of_noise(spread, broken=0.0, times=50, layers=LAYERS):
    """`layers` of them break a share of the samples each."""
    def drawn(random, count):
        noise = np.exp(spread * random.standard_normal((count, LAYERS)))
        bad = (random.random((count, LAYERS)) < broken) & (np.arange(LAYERS) < layers)
        return np.where(bad, times * noise, noise) @ LOW + 1e-9
    return drawn


FAMILIES = {"log-normal noise, 0.8": of_noise(0.8), "log-normal noise, 1.3": of_noise(1.3), "each layer breaks 2 of 100 samples": of_noise(0.4, 0.02),
            "one layer breaks 10 of 100 samples": of_noise(0.4, 0.1, 300, 1)}


def figure(noise):
    return 10 * np.log10(SIGNAL * len(noise) / noise.sum(0))


def gains(noise, low):
    """Less their standard errors, in dB: of the typical sample, and of all noise together."""
    count, each = len(noise), np.log(low / noise)
    without = np.log((low.sum() - low) / (noise.sum() - noise))
    error = np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
    return DB * (each.mean() - each.std(ddof=1) / np.sqrt(count)), DB * (np.log(low.sum() / noise.sum()) - error)


def rules(former, now):
    """`former`, `now`: what noise exceeds with a confidence of c, by the rule for samples."""
    def chosen_by(noise, bound, limit):
        return next(((i, b) for i in range(len(SETS)) if (b := bound(noise[:, i], noise[:, 0])) >= limit), (len(SETS) - 1, np.inf))
    def own(noise, low):
        return now(noise, 0.9)
    def before(noise, low):
        largest = np.sort(noise)[::-1][:len(noise) // 10].sum() > noise.sum() / 2
        believed = former(low, 0.9) + gains(noise, low)[0]
        return min(former(noise, 0.9), believed if largest else max(believed, former(noise, 0.995))) if noise is not low else former(low, 0.9)
    def today(noise, low):
        return min(now(noise, 0.9), now(low, 0.9) + max(gains(noise, low)))
    def halves(noise, limit):
        half, asked = len(noise) // 2, limit
        for _ in range(4):
            i, _ = chosen_by(noise[:half], own, asked)
            confirmed = now(noise[half:, i], 0.9)
            if confirmed >= limit or i == len(SETS) - 1:
                break
            asked += max(limit - confirmed, 0.1)
        return i, confirmed
    return {"own figures": lambda n, limit: chosen_by(n, own, limit), "former": lambda n, limit: chosen_by(n, before, limit), "halves": halves,
            "now": lambda n, limit: chosen_by(n, today, limit)}


def searched(former, now, searches=100):
    rows = []
    for family, drawn in FAMILIES.items():
        for count in (10, 30, 60):
            random, found = np.random.default_rng(count), {}
            for _ in range(searches):
                given, new = drawn(random, count), drawn(random, count)
                limit = figure(given[:, 0]) + WANTED_DB
                for rule, choose in rules(former, now).items():
                    if rule == "halves" and count < 20:
                        continue
                    i, bound = choose(given, limit)
                    last = i == len(SETS) - 1
                    found.setdefault(rule, []).append((last or figure(new[:, i]) >= bound, last or figure(new[:, i]) >= limit, SETS[i].bit_count()))
            rows.append({"family": family, "samples": count, "rules": {rule: {
                "held": round(100 * np.mean([f[0] for f in some])), "met": round(100 * np.mean([f[1] for f in some])),
                "kept": round(float(np.mean([f[2] for f in some])), 1)} for rule, some in found.items()}})
    return rows
