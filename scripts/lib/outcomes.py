#!/usr/bin/env python3
"""What ctest's JUnit record says.

    outcomes.py RECORD             one line for each case: `passed`, `skipped NAME` or `failed NAME`
    outcomes.py RECORD --output N  the last N lines that each failed case printed
"""
import pathlib
import sys
import xml.etree.ElementTree as tree


def outcome(case):
    if case.get("status") == "run":
        return "passed"
    skipped = case.find("skipped")
    # A case that could not be started is "notrun" as well: only one that asked to be skipped is no failure.
    if skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        return f"skipped {case.get('name')}"
    return f"failed {case.get('name')}"


def show_output(case, lines):
    print(f"-- the last lines of {case.get('name')}")
    print("\n".join((case.findtext("system-out") or "").rstrip().splitlines()[-lines:]))


record = pathlib.Path(sys.argv[1])
lines = int(sys.argv[3]) if sys.argv[2:3] == ["--output"] else None
for case in tree.parse(record).iter("testcase") if record.exists() else []:
    if case.get("status") == "disabled":
        continue
    if lines is None:
        print(outcome(case))
    elif outcome(case).startswith("failed "):
        show_output(case, lines)
