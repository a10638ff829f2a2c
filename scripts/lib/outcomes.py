#!/usr/bin/env python3
"""What became of a run of the tests.

    outcomes.py RECORD FOLDER      one line for each case: `passed`, `skipped NAME` or `failed NAME`. RECORD is ctest's
                                   JUnit file, one entry a program; FOLDER holds the JUnit files of the programs.
    outcomes.py RECORD --output N  the last N lines that each failed program printed

A program that failed, or ran, without saying so of a case of its own counts as one failed case: it crashed, say.
"""
import pathlib
import sys
import xml.etree.ElementTree as tree


def programs(record):
    """(name, outcome, what it printed) of each program that ctest knows."""
    for case in tree.parse(record).iter("testcase"):
        status = case.get("status")
        if status != "disabled":
            yield case.get("name"), "passed" if status == "run" else "failed", case.findtext("system-out") or ""


def cases(path):
    """(name, outcome) of the cases that a program, GoogleTest or pytest, wrote down."""
    for case in tree.parse(path).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            yield name, "failed"
        elif case.find("skipped") is not None or case.get("result") == "skipped":
            yield name, "skipped"
        elif case.get("status", "run") == "run":
            yield name, "passed"


def outcomes(record, folder):
    for program, outcome, _ in programs(record):
        file = folder / f"{program}.xml"
        try:
            found = list(cases(file)) if file.exists() else []
        except tree.ParseError:
            found = []
        yield from ((f"{program}: {name}", result) for name, result in found)
        if not found or (outcome == "failed" and all(result != "failed" for _, result in found)):
            yield program, outcome


def main(arguments):
    record = pathlib.Path(arguments[0])
    if not record.exists():
        print("failed ctest: it left no record")
    elif arguments[1] == "--output":
        for name, outcome, text in programs(record):
            if outcome == "failed":
                print(f"-- the last lines of {name}", *text.rstrip().splitlines()[-int(arguments[2]):], sep="\n")
    else:
        found = list(outcomes(record, pathlib.Path(arguments[1])))
        for name, outcome in found or [("ctest: no test ran", "failed")]:
            print(outcome if outcome == "passed" else f"{outcome} {name}")


main(sys.argv[1:])
