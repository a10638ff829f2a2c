"""Time and memory of `vernier diagnose` on networks that are large by number: of nodes, of outputs, of values in a sample.

    python bench/many_nodes.py [--program build/release/apps/vernier/vernier] [--threads 2]

Prints the table of docs/contributing/hardening.md. Each network is made here, with seeded weights: a chain of products, sums and
activations; heads that read one input; a pooling of one large picture in front of a small convolution.
"""
import argparse
import multiprocessing
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew


def saved(path, nodes, initializers, shape, outputs, samples):
    graph = helper.make_graph(nodes, path.stem, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)
    values = np.random.default_rng(1).normal(0, 1, [samples, *shape]).astype(np.float32)
    np.save(path.with_suffix(".npy"), values)


def chain(path, links):
    """Four nodes a link, with a skip branch; a normalization every twenty keeps the values in range."""
    random = np.random.default_rng(0)
    nodes, initializers, source = [], [], "x"
    for i in range(links):
        initializers += [numpy_helper.from_array((np.eye(4) + random.normal(0, 0.01, (4, 4))).astype(np.float32), f"w{i}"),
                         numpy_helper.from_array(random.normal(0, 0.01, 4).astype(np.float32), f"b{i}")]
        nodes += [helper.make_node("MatMul", [source, f"w{i}"], [f"m{i}"], name=f"product{i}"),
                  helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"], name=f"bias{i}"),
                  helper.make_node("Tanh", [f"a{i}"], [f"t{i}"], name=f"tanh{i}"),
                  helper.make_node("Add", [f"t{i}", source], [f"r{i}"], name=f"skip{i}")]
        source = f"r{i}"
        if i % 20 == 19:
            nodes.append(helper.make_node("LpNormalization", [source], [f"n{i}"], name=f"norm{i}", axis=-1))
            source = f"n{i}"
    saved(path, nodes, initializers, [1, 4], [source], 3)


def heads(path, count):
    random = np.random.default_rng(0)
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [f"y{i}"], name=f"head{i}") for i in range(count)]
    initializers = [numpy_helper.from_array(random.normal(0, 1, (4, 8)).astype(np.float32), f"w{i}") for i in range(count)]
    saved(path, nodes, initializers, [1, 4], [f"y{i}" for i in range(count)], 3)


def picture(path, side):
    nodes = [helper.make_node("MaxPool", ["x"], ["p"], name="pool", kernel_shape=[64, 64], strides=[64, 64]),
             helper.make_node("Conv", ["p", "w"], ["c"], name="conv"), helper.make_node("Relu", ["c"], ["y"], name="relu")]
    weight = numpy_helper.from_array(np.random.default_rng(0).normal(0, 1, (4, 1, 3, 3)).astype(np.float32), "w")
    saved(path, nodes, [weight], [1, 1, side, side], ["y"], 3)


def made(path, build, *arguments):
    """In a process of its own: Linux counts what this one holds to the memory of the programs that it starts."""
    process = multiprocessing.Process(target=build, args=(path, *arguments))
    process.start()
    process.join()
    return path


def measured(program, threads, model, folder):
    command = [program, "diagnose", model, "--int8", "--data", model.with_suffix(".npy"), "--no-latency", "--threads", str(threads),
               "-o", folder / "out"]
    before = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{model.name}: exit code {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - before, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[1]
    parser.add_argument("--program", type=pathlib.Path, default=root / "build/release/apps/vernier/vernier")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print("| network | s | MB |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for words, model in [("a chain of 5,060 nodes", made(folder / "short.onnx", chain, 1250)),
                             ("a chain of 50,625 nodes", made(folder / "chain.onnx", chain, 12500)),
                             ("300 outputs of one layer each", made(folder / "some.onnx", heads, 300)),
                             ("3,000 outputs of one layer each", made(folder / "many.onnx", heads, 3000)),
                             ("samples of 105 MB in front of a small network", made(folder / "picture.onnx", picture, 5120))]:
            seconds, megabytes = measured(options.program.resolve(), options.threads, model, folder)
            print(f"| {words} | {seconds:.1f} | {megabytes:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
