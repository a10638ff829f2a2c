"""Third parties' code in a release: components.toml, with what this machine and .deps/ say of versions and licences."""
import dataclasses
import importlib.metadata
import pathlib
import re
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = pathlib.Path(__file__).with_name("components.toml")


@dataclasses.dataclass
class Component:
    name: str
    licence: str  # an SPDX expression
    version: str  # empty where it does not say
    purl: str  # where it is from: https://github.com/package-url/purl-spec; empty for a part of another component
    text: str  # of the licence
    libraries: list[str]
    inside: bool
    only: str  # "wheel", or empty: everywhere
    where_carried: bool
    hash: str = ""  # SHA-256 of the package that it is from, where scripts/ pins a single one


def rows():
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))["component"]


def stem(library):
    """libfmt of libfmt.so.9 and of libfmt-1a2b3c4d.so.9.1.0, as auditwheel calls it."""
    return re.sub(r"(-[0-9a-f]{8})?\.so.*", "", library)


def asked(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def of_debian(package):
    source, version = asked("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package).split()
    system = dict(re.findall(r'^(\w+)="?([^"\n]*)', pathlib.Path("/etc/os-release").read_text(encoding="utf-8"), re.M))
    # An epoch, and what Debian left out of the sources or added to them, are no part of the version that people know.
    plain = re.sub(r"[+~-](ds|dfsg|git|deb|really).*|-[^-]*$", "", version.split(":")[-1])
    if re.match(r"0\.0~git", version):  # stb has no versions
        plain = re.sub(r"^0\.0~git(\d{4})(\d\d)(\d\d).*", r"\1-\2-\3", version)
    quoted = version.replace("+", "%2B").replace(":", "%3A")
    purl = f"pkg:deb/{system['ID']}/{source}@{quoted}?arch=source&distro={system['ID']}-{system['VERSION_ID']}"
    return plain, purl, pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(encoding="utf-8")


def of_pypi(package, pins, site):
    found = next(importlib.metadata.distributions(name=package, path=[str(site)]))
    folder = pathlib.Path(found.locate_file(""))
    licences = sorted(file for file in found.files if ".dist-info/licenses/" in str(file))
    text = "\n".join((folder / file).read_text(encoding="utf-8") for file in licences)
    pinned = (ROOT / "scripts" / pins).read_text(encoding="utf-8")
    version, hashes = re.search(rf"^{package}==(\S+) \\\n((?: +--hash=sha256:\w+(?: \\)?\n)+)", pinned, re.M).groups()
    assert version == found.version, f"{package} is {found.version} here, and {version} in scripts/{pins}"
    hashes = re.findall(r"sha256:(\w+)", hashes)
    return version, f"pkg:pypi/{package}@{version}", text, hashes[0] if len(hashes) == 1 else ""


def onnxruntime(headers, site):
    """The headers come without a version of their own but that of the interface: 21 is that of 1.21."""
    interface = re.search(r"#define ORT_API_VERSION (\d+)", headers.read_text(encoding="utf-8"))[1]
    text = (site / "onnxruntime/LICENSE").read_text(encoding="utf-8")
    return f"1.{interface}", f"pkg:github/microsoft/onnxruntime@v1.{interface}.0", text


def robin_map(site):
    header = (site / "nanobind/ext/robin_map/include/tsl/robin_map.h").read_text(encoding="utf-8")
    return re.sub(r"^ ?\* ?", "", header.split("*/")[0].removeprefix("/**\n"), flags=re.M)


def components(carried=(), deps=ROOT / ".deps"):
    """All that are in the table, without those that are only here where their library is among `carried`, which says no
    other names than the table has."""
    site = next((deps / "venv/lib").glob("python3*/site-packages"))
    stems = {stem(library) for library in carried}
    known = {name for row in rows() for name in row.get("libraries", [])}
    assert stems <= known, f"carried along, and not in {TABLE.name}: {', '.join(sorted(stems - known))}"
    found = []
    for row in rows():
        if row.get("where_carried") and not stems & set(row["libraries"]):
            continue
        pinned = ""
        if "debian" in row:
            version, purl, text = of_debian(row["debian"])
        elif "pypi" in row:
            version, purl, text, pinned = of_pypi(row["pypi"], row["file"], site)
        elif "headers" in row:
            headers = deps / row["headers"]
            if not headers.exists():  # where bootstrap leaves system packages alone
                headers = pathlib.Path("/usr/include/onnxruntime") / headers.name
            version, purl, text = onnxruntime(headers, site)
        else:
            version, purl, text = "", "", robin_map(site)
        found.append(Component(row["name"], row["licence"], version, purl, text, row.get("libraries", []),
                               row.get("inside", False), row.get("only", ""), row.get("where_carried", False), pinned))
    return found
