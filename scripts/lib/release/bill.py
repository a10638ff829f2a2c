#!/usr/bin/env python3
"""Writes the bill of materials of a release, CycloneDX 1.5 as JSON, on stdout; with --licences FILE also the licences'
texts. Says the same for the same commit on the same system: its time is the commit's.

    bill.py VERSION COMMIT SECONDS [--carried FILE] [--licences FILE] [--only wheel|program]

--carried: a file with the name of a shared library that is carried along in each line; each must be known.
"""
import argparse
import datetime
import json
import pathlib
import sys
import uuid

from components import components


def licence_of(expression):
    return [{"license": {"id": expression}}] if " " not in expression else [{"expression": expression}]


def how(component):
    ways = ["compiled in"] if component.inside else []
    return ways + ([f"carried as {', '.join(component.libraries)}"] if component.libraries else [])


def entry(component):
    names = {"type": "library", "bom-ref": component.name, "name": component.name,
             "licenses": licence_of(component.licence)}
    if component.version:
        names["version"] = component.version
    if component.purl:
        names["purl"] = component.purl
    if component.hash:
        names["hashes"] = [{"alg": "SHA-256", "content": component.hash}]
    parts = f"the {component.only} alone" if component.only else "program and wheel"
    names["properties"] = [{"name": "vernier:in", "value": parts},
                           {"name": "vernier:how", "value": "; ".join(how(component))}]
    return names


def bill(version, commit, seconds, parts):
    us = {"type": "application", "bom-ref": "vernier", "name": "vernier", "version": version,
          "licenses": licence_of("Apache-2.0"), "purl": f"pkg:generic/vernier@{version}",
          "properties": [{"name": "vernier:commit", "value": commit}]}
    made = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"bomFormat": "CycloneDX", "specVersion": "1.5",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'vernier {version} {commit}')}", "version": 1,
            "metadata": {"timestamp": made, "component": us},
            "components": [entry(part) for part in parts],
            "dependencies": [{"ref": "vernier", "dependsOn": [part.name for part in parts]}]}


def licences(parts):
    """One text for all: nearly each of them wants to go with whatever it is part of."""
    text = "Vernier's own licence is in LICENSE. It holds parts of the following.\n"
    for part in parts:
        text += f"\n{'=' * 78}\n{f'{part.name} {part.version}'.strip()}: {part.licence}\n{'=' * 78}\n\n{part.text.strip()}\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("commit")
    parser.add_argument("seconds", type=int)
    parser.add_argument("--carried", type=pathlib.Path)
    parser.add_argument("--licences", type=pathlib.Path)
    parser.add_argument("--only", choices=["wheel", "program"])
    line = parser.parse_args()
    carried = line.carried.read_text(encoding="utf-8").split() if line.carried else []
    parts = [part for part in components(carried) if not line.only or part.only in ("", line.only)]
    if line.licences:
        line.licences.write_text(licences(parts), encoding="utf-8")
    json.dump(bill(line.version, line.commit, line.seconds, parts), sys.stdout, indent=2, ensure_ascii=False)
    print()


if __name__ == "__main__":
    main()
