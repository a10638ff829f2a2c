#!/usr/bin/env python3
"""The folders of src/ and apps/, what each says it uses, and what it includes.

    folders.py            checks: each #include is of a folder that CMakeLists.txt names, none is named for nothing, every
                          source is listed, and no folder uses one that comes later. Prints what is wrong; exit code 1.
    folders.py --graph    the graph in Mermaid, for docs/architecture.md: arrows that others imply are left out
    folders.py --table    folder, files, lines
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)


class Folder:
    def __init__(self, name, path, sources, uses, api):
        self.name, self.path, self.sources, self.uses, self.api = name, path, sources, uses, api
        self.includes = {}  # other folder -> [(file, header)]
        self.public = set()  # headers of include/vernier

    def files(self):
        return sorted(f for f in self.path.rglob("*") if f.suffix in (".cpp", ".h", ".c"))


def words(text, keyword):
    """What stands behind KEYWORD in a CMake call."""
    match = re.search(rf"\b{keyword}\s+((?:[^A-Z)]|[A-Z](?![A-Z]+\s))*)", text)
    return match.group(1).split() if match else []


def read():
    """Folders in the order in which CMake adds them."""
    order = re.search(r"foreach\(folder\s+([^)]*)\)", (ROOT / "CMakeLists.txt").read_text()).group(1).split()
    folders = {}
    for name in order:
        text = (ROOT / "src" / name / "CMakeLists.txt").read_text()
        call = re.search(r"vernier_folder\((\S+)(.*?)\)\n", text, re.DOTALL)
        assert call and call.group(1) == name, f"src/{name}/CMakeLists.txt: no vernier_folder({name} ...)"
        text = call.group(2).replace("${CMAKE_CURRENT_BINARY_DIR}", "BUILD")
        folders[name] = Folder(name, ROOT / "src" / name, words(text, "SOURCES"), words(text, "USES"), words(text, "API"))
    for folder in folders.values():
        for file in folder.files():
            for header in INCLUDE.findall(file.read_text(encoding="utf-8")):
                other = home(folders, header)
                if header.startswith("vernier/"):
                    add_public(header.removeprefix("vernier/"), folder.public)
                if other and other != folder.name:
                    folder.includes.setdefault(other, []).append((file, header))
    return folders


def add_public(header, seen):
    """The header and those that it includes."""
    if header not in seen:
        seen.add(header)
        for other in INCLUDE.findall((ROOT / "include/vernier" / header).read_text(encoding="utf-8")):
            add_public(other.removeprefix("vernier/"), seen)


def home(folders, header):
    """The folder that a header lies in; None for the public ones and those of third parties."""
    parts = header.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        if "/".join(parts[:length]) in folders:
            return "/".join(parts[:length])
    return None


def faults(folders):
    order = list(folders)
    for name, folder in folders.items():
        for used in folder.uses:
            if used not in folders:
                yield f"src/{name}/CMakeLists.txt: no folder {used}"
            elif order.index(used) >= order.index(name):
                yield f"src/{name}/CMakeLists.txt: uses {used}, which comes later in CMakeLists.txt"
            elif used not in folder.includes and not folder.public & set(folders[used].api):
                yield f"src/{name}/CMakeLists.txt: names {used} and includes nothing of it"
        for other, places in folder.includes.items():
            if other not in folder.uses:
                file, header = places[0]
                yield f'{file.relative_to(ROOT)}: includes "{header}", but src/{name}/CMakeLists.txt names no {other}'
        listed = {s for s in folder.sources if not s.startswith("BUILD")}
        nested = [f for f in folders.values() if f.path != folder.path and folder.path in f.path.parents]
        there = {str(f.relative_to(folder.path)) for f in folder.files()
                 if f.suffix == ".cpp" and not any(n.path in f.parents for n in nested)}
        for source in sorted(there ^ listed):
            yield f"src/{name}/{source}: {'not listed in' if source in there else 'missing, but listed in'} CMakeLists.txt"


def below(folders, name, seen=None):
    seen = set() if seen is None else seen
    for used in folders[name].uses:
        if used not in seen:
            seen.add(used)
            below(folders, used, seen)
    return seen


def graph(folders):
    yield "graph BT"
    for name, folder in folders.items():
        implied = set().union(*(below(folders, used) for used in folder.uses)) if folder.uses else set()
        yield f"  {name.replace('/', '_')}[{name}]"
        for used in folder.uses:
            if used not in implied:
                yield f"  {name.replace('/', '_')} --> {used.replace('/', '_')}"


def table(folders):
    for name, folder in folders.items():
        files = folder.files()
        yield f"{name:24} {len(files):4} {sum(len(f.read_text(encoding='utf-8').splitlines()) for f in files):6}"


def main(arguments):
    folders = read()
    if arguments == ["--graph"]:
        print("\n".join(graph(folders)))
    elif arguments == ["--table"]:
        print("\n".join(table(folders)))
    elif arguments:
        print(__doc__)
        return 2
    else:
        found = list(faults(folders))
        print("\n".join(found), end="\n" if found else "")
        return 1 if found else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
