"""How long the files that `vernier convert` writes take on an engine, side by side.

    python bench/engine_times.py measure RECORD --on trt --python PYTHON [--program PROGRAM] [--data FOLDER] [NETWORK...]
    python bench/engine_times.py table RECORD

RECORD is bench/results/engines/times.json; docs/records/engines.md holds its table. Of each shared network the formats that the engine takes are
timed by one `vernier bench`, in turns. --data: inputs that bench/networks.py has made already, where the shared data are not. Evidence: run, on
the engine and the device that the record names.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import networks
from engine_truth import FORMATS

SAMPLES = 4  # that calibrate


def error_of(done):
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    return (lines or ["error: " + done.stderr[-300:]])[0][7:]


def bench(arguments, files, data):
    graph = ["--use-cuda-graph"] if arguments.on == "trt" else []
    return subprocess.run([arguments.program, "bench", *files, "--" + arguments.on, *graph, "--python", arguments.python, "--data", data, "--samples", "1",
                           "--duration", str(arguments.seconds), "--json", "-qq"], capture_output=True, text=True)


def measured(arguments, network, folder, data):
    row, files = {}, {}
    for form, options in FORMATS.items():
        file = networks.model_file(network)
        if options:
            file = pathlib.Path(folder, f"{form}.onnx")
            subprocess.run([arguments.program, "convert", networks.model_file(network), *options, "--data", data, "--samples", str(SAMPLES), "-o", file,
                            "-qq"], check=True, stdout=subprocess.DEVNULL)
        done = bench(argparse.Namespace(**{**vars(arguments), "seconds": 0.1}), [file], data)
        if done.returncode:
            row[form] = {"refused": error_of(done)}
        else:
            files[form] = file
    if not files:
        return row
    done = bench(arguments, list(files.values()), data)
    done.check_returncode()
    report = json.loads(done.stdout)
    for form, one in zip(files, report["rows"]):
        latency = one["latency"]
        row[form] = {"ms": latency["median_ms"], "p10": latency["p10_ms"], "p90": latency["p90_ms"], "engine": one["engine"], "kernels": one["kernels"]}
    return row


def measure(arguments):
    path = pathlib.Path(arguments.record)
    record = {"on": arguments.on, "networks": {}}
    with tempfile.TemporaryDirectory() as folder:
        for network in arguments.networks or networks.NETWORKS:
            data = networks.data_file(arguments.data, network) if arguments.data else networks.make(folder, network, SAMPLES)
            record["networks"][network] = measured(arguments, network, folder, data)
            print(network, json.dumps(record["networks"][network]), flush=True)
            path.write_text(json.dumps(record, indent=1) + "\n")


def cell(one):
    if "refused" in one:
        return "refused"
    return f"{one['ms']:.3f} ({one['p10']:.3f} to {one['p90']:.3f}), {one['kernels']}"


def table(arguments):
    record = json.loads(pathlib.Path(arguments.record).read_text())
    engines = {one["engine"] for row in record["networks"].values() for one in row.values() if "engine" in one}
    print(", ".join(sorted(engines)))
    print("\n| network | " + " | ".join(FORMATS) + " |\n|" + "---|" * (len(FORMATS) + 1))
    for network, row in record["networks"].items():
        print(f"| {network} | " + " | ".join(cell(row[form]) for form in FORMATS) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["measure", "table"])
    parser.add_argument("record")
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--on", default="trt")
    parser.add_argument("--python", default="python3")
    parser.add_argument("--program", default="build/release/apps/vernier/vernier")
    parser.add_argument("--data")
    parser.add_argument("--seconds", type=float, default=1)
    arguments = parser.parse_args()
    (measure if arguments.what == "measure" else table)(arguments)


if __name__ == "__main__":
    main()
