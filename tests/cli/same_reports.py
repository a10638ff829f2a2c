"""Pairs of reports, the first of each made with records of earlier runs: all but times, places and what was run must be equal."""
import json
import sys

OTHERWISE = ("phases", "command", "files", "notes", "note_codes", "plan")


def figures(path):
    with open(path) as file:
        report = json.load(file)
    report["kept"].pop("sample_inferences")
    report["typed"].pop("file", None)
    return {key: value for key, value in report.items() if key not in OTHERWISE}


for known, anew in zip(sys.argv[1::2], sys.argv[2::2]):
    first, second = figures(known), figures(anew)
    different = [key for key in first.keys() | second.keys() if first.get(key) != second.get(key)]
    assert not different, (known, anew, {key: (first.get(key), second.get(key)) for key in different})
