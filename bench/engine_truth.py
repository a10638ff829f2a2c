"""What an engine itself gives of the files that `vernier convert` writes, beside what is simulated.

    python bench/engine_truth.py measure RECORD --on tensorrt|openvino --python PYTHON [--data FOLDER] [--samples 20] [--networks NETWORK...]
    python bench/engine_truth.py simulate RECORD [--data FOLDER]
    python bench/engine_truth.py table RECORD

RECORD is bench/results/engines/ENGINE.json; docs/records/truth-*.md hold its tables. Each file is measured by `vernier verify --on`: the SQNR in dB
of the network's worst output over the samples, against the float32 file in ONNX Runtime. `simulate` adds to a record of TensorRT what the
simulation says here with float32 sums and as TensorRT-RTX was measured to sum (--accumulate float16). --data: inputs that bench/networks.py has
made already, where the shared data are not. Evidence: run, on the engine and the device that the record names.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import networks

FORMATS = {"float32": [], "fp16": ["--fp16"], "bf16": ["--bf16"], "fp8": ["--fp8"], "int8": ["--int8"]}
TARGETS = {"tensorrt": list(FORMATS), "openvino": ["float32", "fp16", "int8"]}
FEW = {"style-candy": 4, "yolox-nano": 8}  # large inputs


def worst(figures):
    return min(float(output["sqnr_db"]) for output in figures["outputs"])


def converted(arguments, on, network, form, folder, data):
    """The file that `convert` writes."""
    if form == "float32":
        return networks.model_file(network)
    typed = pathlib.Path(folder, "typed.onnx")
    subprocess.run([arguments.program, "convert", networks.model_file(network), *FORMATS[form], "--target", on, "--data", data, "--samples",
                    "20", "-o", typed, "-qq"], check=True, stdout=subprocess.DEVNULL)
    return typed


def verified(arguments, network, typed, data, samples, *options):
    carries = [word for carry in networks.CARRIES.get(network, []) for word in ("--carry", carry)]
    samples = str(min(samples, FEW.get(network, samples)))
    return subprocess.run([arguments.program, "verify", networks.model_file(network), typed, "--data", data, "--samples", samples, *carries,
                           "--json", *options], capture_output=True, text=True)


def measured(arguments, network, form, folder, data):
    """What came of one file."""
    typed = converted(arguments, arguments.on, network, form, folder, data)
    done = verified(arguments, network, typed, data, arguments.samples, "--on", arguments.on, "--python", arguments.python,
                    *arguments.engine_options.split())
    if done.returncode != 0:
        error = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        return {"refused": (error or ["error: " + done.stderr[-300:]])[0][7:]}
    report = json.loads(done.stdout)
    engine = report["engine"]
    return {"engine": engine["engine"], "samples": report["samples"], "measured_db": worst(engine["figures"]),
            "simulated_db": worst(report["figures"]), "kernels": engine["kernels"], "other_formats": engine["other_formats"],
            "machine": report["machine"], "onnxruntime": report["onnxruntime_version"]}


def simulate(arguments):
    path = pathlib.Path(arguments.record)
    record = json.loads(path.read_text())
    with tempfile.TemporaryDirectory() as folder:
        for network, row in record["networks"].items():
            data = networks.data_file(arguments.data, network) if arguments.data else networks.make(folder, network, 20)
            for form, one in row.items():
                if "refused" in one:
                    continue
                typed = converted(arguments, record["on"], network, form, folder, data)
                for name, options in (("simulated_db", []), ("as_engine_db", ["--accumulate", "float16"])):
                    done = verified(arguments, network, typed, data, one["samples"], *options)
                    done.check_returncode()
                    report = json.loads(done.stdout)
                    one[name] = worst(report["figures"])
                one.update(machine=report["machine"], onnxruntime=report["onnxruntime_version"])
                print(network, form, one["measured_db"], one["simulated_db"], one["as_engine_db"], flush=True)
                path.write_text(json.dumps(record, indent=1) + "\n")


def measure(arguments):
    record = {"on": arguments.on, "options": arguments.engine_options, "networks": {}}
    path = pathlib.Path(arguments.record)
    with tempfile.TemporaryDirectory() as folder:
        for network in arguments.networks or networks.NETWORKS:
            data = networks.data_file(arguments.data, network) if arguments.data else networks.make(folder, network, arguments.samples)
            row = record["networks"][network] = {}
            for form in TARGETS[arguments.on]:
                row[form] = measured(arguments, network, form, folder, data)
                print(network, form, json.dumps(row[form])[:300], flush=True)
                path.write_text(json.dumps(record, indent=1) + "\n")


def figure(one, name):
    return "" if name not in one or one[name] > 300 else f"{one[name]:.1f}"


def table(arguments):
    record = json.loads(pathlib.Path(arguments.record).read_text())
    rows = record["networks"]
    first = next(one for row in rows.values() for one in row.values() if "engine" in one)
    columns = {"measured_db": "engine", "simulated_db": "simulated"}
    if "as_engine_db" in first:
        columns["as_engine_db"] = "with --accumulate float16"
    print(f"{first['engine']}{' ' + record['options'] if record['options'] else ''}; simulated on {first['machine']}, ONNX Runtime "
          f"{first['onnxruntime']}\n")
    print("| network | samples | format | " + " | ".join(columns.values()) + " | kernels |\n" + "|---" * (len(columns) + 4) + "|")
    for network, row in rows.items():
        refused = [form for form, one in row.items() if "refused" in one]
        for form, one in row.items():
            if form not in refused:
                print(f"| {network} | {one['samples']} | {form} | " + " | ".join(figure(one, name) for name in columns) + f" | {one['kernels']} |")
        if refused:
            print(f"| {network} | | {', '.join(refused)} | refused |" + " |" * len(columns))
    print()
    for name, words in list(columns.items())[1:]:
        errors = [abs(one["measured_db"] - one[name]) for row in rows.values() for one in row.values() if one.get(name, 999) < 300]
        print(f"{words}: {sum(error < 1 for error in errors)} of {len(errors)} figures are within 1 dB of the engine's")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure")
    one.add_argument("record")
    one.add_argument("--program", default="build/release/apps/vernier/vernier")
    one.add_argument("--on", choices=TARGETS, required=True)
    one.add_argument("--python", default="python3")
    one.add_argument("--data")
    one.add_argument("--samples", type=int, default=20)
    one.add_argument("--engine-options", default="", help="further options of verify, such as '--inference-precision f32'")
    one.add_argument("--networks", nargs="+")
    two = commands.add_parser("simulate")
    two.add_argument("record")
    two.add_argument("--program", default="build/release/apps/vernier/vernier")
    two.add_argument("--data")
    commands.add_parser("table").add_argument("record")
    arguments = parser.parse_args()
    {"measure": measure, "simulate": simulate, "table": table}[arguments.command](arguments)


if __name__ == "__main__":
    main()
