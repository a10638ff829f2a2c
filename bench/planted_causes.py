#!/usr/bin/env python3
"""Plants faults into the shared networks and counts how often the right cause is named first, for the right layer.

    python bench/planted_causes.py --program build/release/apps/vernier/vernier --models ../shared/models --inputs DIR [--nets A,B]

DIR holds NETWORK.npz as the shared inputs script writes them. A fault is a change of the float network (and of what it
computes: the broken network is its own reference), or of the calibration samples. Each network is asked for what it gives without a
fault, less 3 dB; a fault that leaves it that does not bite, and is not counted. Prints a table; --json FILE keeps it.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NETS = ["resnet8-cifar", "vit-cifar", "espcn-superres", "rfb320-face", "squeezenet-imagenet"]


class Net:
    def __init__(self, path):
        self.model = onnx.load(path)
        self.graph = self.model.graph
        for index, node in enumerate(self.graph.node):  # as the program would call them, before nodes are added
            node.name = node.name or f"{node.op_type}_{index}"
        self.weights = {t.name: numpy_helper.to_array(t) for t in self.graph.initializer}
        for node in self.graph.node:
            if node.op_type == "Constant":
                for a in node.attribute:
                    if a.name == "value":
                        self.weights[node.output[0]] = numpy_helper.to_array(a.t)

    def constant(self, name, value):
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def convs(self, depth=1):
        """Weighted nodes with constant weights, neither the first nor the last."""
        found = [n for n in self.graph.node if n.op_type in ("Conv", "Gemm", "MatMul") and len(n.input) > 1 and n.input[1] in self.weights
                 and self.weights[n.input[1]].ndim in (2, 4)]
        return found[depth:-1] or found

    def in_front_of(self, node, build):
        """Replaces what `node` reads by build(tensor, prefix) -> (nodes, tensor)."""
        nodes, tensor = build(node.input[0], "planted")
        at = list(self.graph.node).index(node)
        node.input[0] = tensor
        rest = list(self.graph.node)
        del self.graph.node[:]
        self.graph.node.extend(rest[:at] + nodes + rest[at:])

    def set_weight(self, name, value):
        value = numpy_helper.from_array(np.ascontiguousarray(value, np.float32), name)
        for tensor in self.graph.initializer:
            if tensor.name == name:
                tensor.CopyFrom(value)
                return
        for node in self.graph.node:
            if node.op_type == "Constant" and node.output[0] == name:
                node.attribute[0].t.CopyFrom(value)


def chain(net, steps):
    """steps: (op, constant or None, name) one after the other."""
    def build(tensor, prefix):
        nodes = []
        for op, value, name in steps:
            inputs = [tensor] if value is None else [tensor, net.constant(f"{prefix}_{name}_c", value)]
            nodes.append(helper.make_node(op, inputs, [f"{prefix}_{name}"], name=f"{prefix}_{name}"))
            tensor = nodes[-1].output[0]
        return nodes, tensor
    return build


def middle(net):
    convs = net.convs()
    return convs[len(convs) // 2]


# Each: (id of the cause, options, function of the net -> name of the layer that must be named (None: the planted conv))
def overflow(net):
    net.in_front_of(middle(net), chain(net, [("Mul", 3e4, "up"), ("Mul", 1e3, "more"), ("Mul", 1 / 3e7, "down")]))
    return ["planted_more", "planted_up"]


def absorption(net):
    net.in_front_of(middle(net), chain(net, [("Add", 30000.0, "shift"), ("Sub", 30000.0, "back")]))
    return ["planted_shift"]


def lost_epsilon(net):
    def build(tensor, prefix):
        c = lambda n, v: net.constant(f"{prefix}_{n}_c", v)
        names = [("Mul", [tensor, c("zero", 0.0)], "nothing"), ("Add", [f"{prefix}_nothing", c("eps", 1e-12)], "epsilon"),
                 ("Sqrt", [f"{prefix}_epsilon"], "root"), ("Mul", [f"{prefix}_root", c("a", 1e3)], "up"),
                 ("Mul", [f"{prefix}_up", c("b", 1e3)], "one"), ("Div", [tensor, f"{prefix}_one"], "divide")]
        nodes = [helper.make_node(op, i, [f"{prefix}_{n}"], name=f"{prefix}_{n}") for op, i, n in names]
        return nodes, f"{prefix}_divide"
    net.in_front_of(middle(net), build)
    return ["planted_epsilon"]


def subnormal(net):
    net.in_front_of(middle(net), chain(net, [("Mul", 1e-7, "down"), ("Mul", 1e4, "up"), ("Mul", 1e3, "more")]))
    return ["planted_down"]


def mask(net):
    def build(tensor, prefix):
        c = lambda n, v: net.constant(f"{prefix}_{n}_c", v)
        names = [("Mul", [tensor, c("zero", 0.0)], "nothing"), ("Add", [f"{prefix}_nothing", c("mask", -1e9)], "mask"),
                 ("Sub", [f"{prefix}_mask", c("mask2", -1e9)], "unmask"), ("Add", [tensor, f"{prefix}_unmask"], "sum")]
        nodes = [helper.make_node(op, i, [f"{prefix}_{n}"], name=f"{prefix}_{n}") for op, i, n in names]
        return nodes, f"{prefix}_sum"
    net.in_front_of(middle(net), build)
    return ["planted_mask", "planted_unmask"]


def large_integers(net):
    """Even or odd: what a whole number beyond 2048 no longer says."""
    def build(tensor, prefix):
        c = lambda n, v: net.constant(f"{prefix}_{n}_c", v)
        names = [("Mul", [tensor, c("scale", 4096.0)], "scale"), ("Floor", [f"{prefix}_scale"], "whole"),
                 ("Mul", [f"{prefix}_whole", c("half", 0.5)], "half"), ("Floor", [f"{prefix}_half"], "pairs"),
                 ("Mul", [f"{prefix}_pairs", c("two", 2.0)], "even"), ("Sub", [f"{prefix}_whole", f"{prefix}_even"], "odd"),
                 ("Add", [tensor, f"{prefix}_odd"], "sum")]
        nodes = [helper.make_node(op, i, [f"{prefix}_{n}"], name=f"{prefix}_{n}") for op, i, n in names]
        return nodes, f"{prefix}_sum"
    net.in_front_of(middle(net), build)
    return [f"planted_{n}" for n in ("scale", "whole", "half", "pairs", "even")]


def cancellation(net):
    def build(tensor, prefix):
        c = lambda n, v: net.constant(f"{prefix}_{n}_c", v)
        names = [("Mul", [tensor, c("a", 33.1)], "a"), ("Mul", [tensor, c("b", 33.0)], "b"),
                 ("Sub", [f"{prefix}_a", f"{prefix}_b"], "difference"), ("Mul", [f"{prefix}_difference", c("up", 10.0)], "up")]
        nodes = [helper.make_node(op, i, [f"{prefix}_{n}"], name=f"{prefix}_{n}") for op, i, n in names]
        return nodes, f"{prefix}_up"
    net.in_front_of(middle(net), build)
    return ["planted_difference"]


def small_channels(net, node, factor):
    """Every other channel that `node` makes: its weights and biases divided by `factor`, its result times as much."""
    w = net.weights[node.input[1]].copy()
    channels = w.shape[0] if node.op_type == "Conv" else w.shape[-1]
    scale = np.ones(channels, np.float32)
    scale[::2] = factor
    w /= scale.reshape(-1, 1, 1, 1) if node.op_type == "Conv" else scale
    if len(node.input) > 2:
        net.set_weight(node.input[2], net.weights[node.input[2]] / scale)
    output = node.output[0]
    node.output[0] = "planted_small"
    shape = (1, -1, 1, 1) if node.op_type == "Conv" else (-1,)
    behind = helper.make_node("Mul", ["planted_small", net.constant("planted_scale", scale.reshape(shape))], [output], name="planted_behind")
    at = list(net.graph.node).index(node)
    rest = list(net.graph.node)
    del net.graph.node[:]
    net.graph.node.extend(rest[:at + 1] + [behind] + rest[at + 1:])
    return w


def weight_spread(net):
    node = next(n for n in net.convs()[len(net.convs()) // 2:] if n.op_type in ("Conv", "MatMul"))
    net.set_weight(node.input[1], small_channels(net, node, 200))
    return [node.name]


def weight_grid(net):
    """Weights of 12 steps in one half of the channels and 125 in the other, and a step that is not absmax / 127."""
    node = next(n for n in net.convs()[len(net.convs()) // 2:] if n.op_type in ("Conv", "MatMul"))
    w = small_channels(net, node, 10)
    step = np.float32(np.abs(w).max() / 90)
    net.set_weight(node.input[1], np.rint(w / step) * step)
    return [node.name]


def outlier_channel(net):
    node = next((n for n in net.convs()[len(net.convs()) // 2:] if n.op_type == "Conv" and net.weights[n.input[1]].shape[1] >= 12), None)
    if node is None:
        return None
    w = net.weights[node.input[1]].copy()
    scale = np.ones((1, w.shape[1], 1, 1), np.float32)
    scale[0, 3] = 100
    w[:, 3] /= 100
    net.set_weight(node.input[1], w)
    net.in_front_of(node, chain(net, [("Mul", scale, "channel")]))
    return [node.name]


FAULTS = {
    "overflow": (overflow, ["--fp16"], None), "absorption": (absorption, ["--fp16"], None),
    "cancellation": (cancellation, ["--fp16"], None), "lost-epsilon": (lost_epsilon, ["--fp16"], None),
    "subnormal-loss": (subnormal, ["--fp16"], None), "mask-constant": (mask, ["--fp16"], None),
    "large-integers": (large_integers, ["--fp16"], None),
    "weight-channel-spread": (weight_spread, ["--int8", "--per-tensor"], None),
    "weight-grid": (weight_grid, ["--int8", "--per-tensor"], None), "outlier-channels": (outlier_channel, ["--int8"], None),
    "over-saturation": (lambda net: ["*"], ["--int8"], 0.1), "unused-levels": (lambda net: ["*"], ["--int8"], 30.0),
}


def run(program, model, data, options, samples, calibration=None):
    command = [program, "diagnose", str(model), "--data", str(data), *options, "--no-latency", "--json", "-q"]
    if calibration:
        command += ["--calibration-data", str(calibration)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--models", required=True, type=pathlib.Path, help="folder with NETWORK/*.onnx")
    parser.add_argument("--inputs", required=True, type=pathlib.Path)
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    rows = []
    for name in args.nets.split(","):
        source = next((args.models / name).glob("*.onnx"))
        # Keys are sample_0, sample_1, ...: the same number of arrays for each sample.
        arrays = dict(list(np.load(args.inputs / f"{name}.npz").items())[: args.samples])
        sound = {}  # by options: SQNR of each output without a fault
        for cause in args.faults.split(","):
            plant, options, scale = FAULTS[cause]
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                net = Net(source)
                wanted = plant(net)
                if wanted is None:
                    print(f"{name:22} {cause:24} not planted: no such layer", flush=True)
                    continue
                onnx.save(net.model, folder / "model.onnx")
                np.savez(folder / "data.npz", **arrays)
                calibration = None
                if scale:
                    calibration = folder / "calibration.npz"
                    np.savez(calibration, **{k: (v * scale).astype(v.dtype) for k, v in arrays.items()})
                try:
                    if tuple(options) not in sound:
                        onnx.save(Net(source).model, folder / "sound.onnx")
                        plain = run(args.program, folder / "sound.onnx", folder / "data.npz", options, args.samples)
                        sound[tuple(options)] = {o["name"]: o["sqnr_db"] for o in plain["all_low"]["outputs"]}
                    required = [f"{output}:{db - 3:.2f}" for output, db in sound[tuple(options)].items() if isinstance(db, float)]
                    report = run(args.program, folder / "model.onnx", folder / "data.npz",
                                 [*options, "--min-sqnr", *required] if required else options, args.samples, calibration)
                    if required and report["all_low"]["passed"]:
                        print(f"{name:22} {cause:24} does not bite", flush=True)
                        continue
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    print(f"{name:22} {cause:24} failed: {error}", flush=True)
                    rows.append({"net": name, "fault": cause, "named": "failed", "right": False})
                    continue
                causes = report["explanation"]["causes"]
                first = causes[0] if causes else {"id": "none found", "layer": ""}
                of_layer = next((c for c in causes if c["layer"] in wanted), None)
                place = "*" in wanted or first["layer"] in wanted
                right = first["id"] == cause and place
                right_at_layer = "*" not in wanted and of_layer is not None and of_layer["id"] == cause
                rows.append({"net": name, "fault": cause, "named": first["id"], "layer": first["layer"], "right": right,
                             "right_at_layer": right or right_at_layer})
                print(f"{name:22} {cause:24} {'yes' if right else 'at its layer' if right_at_layer else 'NO':12} "
                      f"{first['id']} at {first['layer'][-40:]}", flush=True)
    right = sum(row["right"] for row in rows)
    print(f"{right} of {len(rows)} right cause first of all layers; "
          f"{sum(row.get('right_at_layer', False) for row in rows)} first at the planted layer")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    return 0 if right >= 0.9 * len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
