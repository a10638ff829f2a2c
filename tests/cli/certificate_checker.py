"""Does the report's certificate hold, by the journal's trials alone?  python certificate_checker.py REPORT.json JOURNAL.jsonl

Shares nothing with the program: it reads two files. The kept set must have passed, and it less any one of its layers must have
failed, each in a trial of exactly that set, and none of these may be on record with both outcomes. Layers that the report excuses
because dropping them saves nothing are not among the certificate's; each must still be one of the kept.
"""
import json
import sys

report = json.load(open(sys.argv[1]))["kept"]
lines = [json.loads(line) for line in open(sys.argv[2]).read().splitlines()]
trials = {}
for line in lines[1:]:
    if "kept" in line:
        trials.setdefault(frozenset(line["kept"]), set()).add(line["verdict"] == "good")

kept = frozenset(report["layers"])
faults = [] if report["certified"] else ["it does not call itself certified"]
if trials.get(kept) != {True}:
    faults.append(f"the kept set: {trials.get(kept)}")
for row in report["certificate"]:
    if row["layer"] not in kept:
        faults.append(f"{row['layer']} is not kept")
    if trials.get(kept - {row["layer"]}) != {False}:
        faults.append(f"without {row['layer']}: {trials.get(kept - {row['layer']})}")
if len(report["certificate"]) > len(kept) or len(set(row["layer"] for row in report["certificate"])) != len(report["certificate"]):
    faults.append("a layer has two entries")
excused = len(kept) - len(report["certificate"])
if excused and report["cost_unit"] == "layers":
    faults.append(f"{excused} kept layers have no entry")
for fault in faults:
    print("FAULT", fault)
print(f"{len(kept)} kept, {len(report['certificate'])} entries, {len(trials)} sets on record")
sys.exit(1 if faults else 0)
