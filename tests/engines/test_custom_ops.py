"""`--custom-ops`: models with operators that a shared library brings, custom_ops/operators.c, compiled here. What comes back is
held against ONNX Runtime with the same library."""
import os
import pathlib
import shutil
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

PROGRAM = os.environ["VERNIER_PROGRAM"]
SOURCE = pathlib.Path(__file__).parent / "custom_ops/operators.c"
DOMAIN = "test.ops"


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """Compiles it, with more options of the compiler if asked."""
    folder = tmp_path_factory.mktemp("library")
    compiler = shutil.which("cc") or shutil.which("gcc")

    def make(name, *options, source=SOURCE):
        if not (folder / name).exists():
            subprocess.run([compiler, "-shared", "-fPIC", "-I", os.environ["ONNXRUNTIME_INCLUDE"], *options, "-o", folder / name, source],
                           check=True)
        return folder / name
    return make


@pytest.fixture
def operators(library):
    return library("operators.so")


@pytest.fixture
def vernier(tmp_path):
    def call(*arguments, code=0):
        done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stdout + done.stderr
        return done
    return call


def weight(name, *shape):
    random = np.random.default_rng(len(shape) + sum(map(ord, name)))
    return numpy_helper.from_array((random.standard_normal(shape) * 0.3).astype(np.float32), name)


def conv(source, target, name):
    return helper.make_node("Conv", [source, "w" + name], [target], name=name, pads=[1, 1, 1, 1])


def custom(operator, sources, targets, name, **attributes):
    return helper.make_node(operator, sources, targets, name=name, domain=DOMAIN, **attributes)


def body(nodes, output):
    return helper.make_graph(nodes, output, [], [helper.make_tensor_value_info(output, TensorProto.FLOAT, [1, 4, 8, 8])])


def nodes_of(place):
    """Where the operators stand, and whether there is a condition beside the picture."""
    return {
        "middle": [conv("x", "a", "1"), custom("Twist", ["a"], ["b"], "twist"), conv("b", "c", "2"), helper.make_node("Relu", ["c"], ["y"], name="relu")],
        "start": [custom("Twist", ["x"], ["a"], "twist"), conv("a", "y", "1")],
        "end": [conv("x", "a", "1"), custom("Twist", ["a"], ["y"], "twist")],
        "outputs": [conv("x", "a", "1"), custom("Halves", ["a"], ["b", "c"], "halves"), conv("b", "d", "2"), conv("c", "e", "3"),
                    helper.make_node("Add", ["d", "e"], ["y"], name="add")],
        "integers": [conv("x", "a", "1"), custom("Signs", ["a"], ["s"], "signs"), helper.make_node("Cast", ["s"], ["f"], name="cast", to=1),
                     helper.make_node("Mul", ["f", "a"], ["m"], name="mul"), conv("m", "y", "2")],
        "body": [conv("x", "a", "1"),
                 helper.make_node("If", ["which"], ["b"], name="if", then_branch=body([custom("Twist", ["a"], ["t"], "twist")], "t"),
                                  else_branch=body([helper.make_node("Relu", ["a"], ["r"], name="relu")], "r")), conv("b", "y", "2")],
        "fails": [conv("x", "a", "1"), custom("Fails", ["a"], ["b"], "fails"), conv("b", "y", "2")],
    }[place]


PLACES = ("middle", "start", "end", "outputs", "integers", "body")


@pytest.fixture
def make(tmp_path):
    random = np.random.default_rng(1)
    pictures = {f"sample_{i}/x": random.standard_normal((1, 3, 8, 8)).astype(np.float32) for i in range(4)}
    np.savez(tmp_path / "x.npz", **pictures)
    np.savez(tmp_path / "which.npz", **pictures, **{f"sample_{i}/which": np.array(i % 2 == 0) for i in range(4)})

    def make(place, opset=17):
        nodes = nodes_of(place)
        weights = [weight("w1", 4, 3, 3, 3), weight("w2", 4, 4, 3, 3), weight("w3", 4, 4, 3, 3)]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])]
        if place == "body":
            inputs.append(helper.make_tensor_value_info("which", TensorProto.BOOL, []))
        graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8])],
                                  [one for one in weights if any(one.name in node.input for node in nodes)])
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / f"{place}.onnx")
        return tmp_path / f"{place}.onnx", tmp_path / ("which.npz" if place == "body" else "x.npz")
    return make


def outputs(model, data, library):
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(library))
    session = onnxruntime.InferenceSession(model, options)
    arrays = np.load(data)
    return [session.run(None, {port.name: arrays[f"sample_{i}/{port.name}"] for port in session.get_inputs()})[0] for i in range(4)]


def all_nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


@pytest.mark.parametrize("place", PLACES)
def test_they_run_as_in_onnx_runtime(vernier, make, operators, tmp_path, place):
    model, data = make(place)
    vernier("run", model, "--onnxrt", "--sim", "--int8", "--data", data, "--custom-ops", operators, "--compare", "sqnr", "--sqnr-threshold", 20)
    vernier("run", model, "--onnxrt", "--data", data, "--custom-ops", operators, "--save-outputs", "out.npz")
    arrays = np.load(tmp_path / "out.npz")
    assert len(arrays) == 4
    for name, wanted in zip(sorted(arrays), outputs(model, data, operators)):
        assert np.array_equal(arrays[name], wanted)


@pytest.mark.sampled
@pytest.mark.parametrize("precision", ("fp16", "bf16", "int8", "fp8"))
@pytest.mark.parametrize("place", PLACES)
def test_they_stay_in_float32_and_the_layers_around_them_do_not(vernier, make, operators, tmp_path, place, precision):
    model, data = make(place)
    done = vernier("convert", model, f"--{precision}", "--data", data, "--custom-ops", operators, "-o", "typed.onnx")
    assert "cannot run" not in done.stdout + done.stderr
    typed = onnx.load(tmp_path / "typed.onnx")
    assert {opset.domain: opset.version for opset in typed.opset_import}[DOMAIN] == 1
    whole, written = ([node for node in all_nodes(graph) if node.domain == DOMAIN] for graph in (onnx.load(model).graph, typed.graph))
    assert [node.op_type for node in whole] == [node.op_type for node in written] != []
    if precision == "fp16":
        if place != "integers":  # what gives no floats is no layer
            assert f"1 {whole[0].op_type} in FP32: a custom operator, of domain test.ops" in done.stdout
        weights = [one.data_type for one in typed.graph.initializer if one.name.startswith("w")]
        assert weights and all(type == TensorProto.FLOAT16 for type in weights)
    done = vernier("verify", model, "typed.onnx", "--data", data, "--custom-ops", operators, "--min-sqnr", 15)
    if precision in ("fp16", "int8"):  # what its kernels take
        outputs(tmp_path / "typed.onnx", data, operators)


@pytest.mark.parametrize("place", PLACES)
def test_an_old_opset_is_raised_around_them(vernier, make, operators, tmp_path, place):
    model, data = make(place, opset=11)
    vernier("convert", model, "--fp8", "--data", data, "--custom-ops", operators, "-o", "typed.onnx")
    assert {opset.domain: opset.version for opset in onnx.load(tmp_path / "typed.onnx").opset_import} == {"": 19, DOMAIN: 1}


@pytest.mark.sampled
@pytest.mark.parametrize("command", (
    ("diagnose", "M", "--int8", "--min-sqnr", "10", "-o", "out"), ("fix", "M", "--int8", "--min-sqnr", "10", "-o", "out"),
    ("quantize", "M", "--target", "onnxruntime", "-o", "q.onnx"), ("calibrate", "M", "-o", "ranges.json"),
    ("pipeline", "--stage", "float:M", "--stage", "again:M@onnxruntime"),
    ("debug", "precision", "M", "--int8", "--min-sqnr", "10", "--journal", "none"), ("debug", "accuracy", "M", "--sim", "--int8", "--min-sqnr", "5"),
    ("debug", "reduce", "M", "-o", "r.onnx", "--check-sim", "int8", "--min-sqnr", "200"),
    ("check", "data", "M"), ("surgeon", "sanitize", "M", "--fold-constants", "--cleanup", "--simplify", "-o", "s.onnx"),
), ids=" ".join)
@pytest.mark.parametrize("place", PLACES)
def test_every_job_runs_them(vernier, make, operators, place, command):
    model, data = make(place)
    vernier(*(word.replace("M", str(model)) if word[-1] == "M" or ":M" in word else word for word in command), "--data", data, "--custom-ops", operators)


@pytest.mark.parametrize("command", (("check", "lint", "M"), ("check", "placement", "M", "--target", "onnxruntime"),
                                     ("inspect", "capability", "M", "--target", "onnxruntime")), ids=" ".join)
def test_what_needs_no_samples(vernier, make, operators, command):
    model, _ = make("middle")
    command = [str(model) if word == "M" else word for word in command]
    assert "Twist" not in vernier(*command, "--custom-ops", operators).stdout
    done = subprocess.run([PROGRAM, *command], capture_output=True, text=True)
    assert "no operator 'Twist' of the domain 'test.ops'" in " ".join((done.stdout + done.stderr).split())


def test_a_part_is_cut_out(vernier, make, operators, tmp_path):
    model, data = make("middle")
    vernier("surgeon", "extract", model, "--inputs", "b:auto:auto", "--outputs", "y:auto", "--with-data", data, "--custom-ops", operators, "-o", "part.onnx")
    assert onnx.load(tmp_path / "part.onnx").graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT
    assert (tmp_path / "part_inputs.json").exists()


def test_without_the_library_the_error_names_node_operator_domain_and_option(vernier, make):
    for place in ("middle", "body"):
        model, data = make(place)
        done = vernier("run", model, "--onnxrt", "--data", data, code=4)
        assert f"{model}: node 'twist': ONNX Runtime" in done.stderr and "has no operator 'Twist' of the domain 'test.ops'" in done.stderr
        assert "hint: --custom-ops LIB.so" in done.stderr


def test_a_library_that_lacks_the_operator(vernier, make, library):
    model, data = make("middle")
    done = vernier("run", model, "--onnxrt", "--data", data, "--custom-ops", library("other.so", "-DDOMAIN=\"other.ops\""), code=4)
    assert "no operator 'Twist'" in done.stderr and "not in other.so" in done.stderr


def test_several_libraries(vernier, make, operators, library):
    model, data = make("middle")
    other = library("other.so", "-DDOMAIN=\"other.ops\"")
    vernier("run", model, "--onnxrt", "--data", data, "--custom-ops", other, operators)
    vernier("run", model, "--onnxrt", "--data", data, "--custom-ops", other, "--custom_op_library", operators)


def test_an_operator_that_fails(vernier, make, operators):
    model, data = make("fails")
    done = vernier("run", model, "--onnxrt", "--data", data, "--custom-ops", operators, code=4)
    assert "the operator has had enough" in done.stderr and "'fails'" in done.stderr


def test_what_is_no_library_of_operators(vernier, make, library, tmp_path):
    model, data = make("middle")
    (tmp_path / "empty.c").write_text("int nothing;")
    for path, code, text in ((tmp_path / "none.so", 3, "no such file"), (tmp_path, 3, "not a file"), (model, 3, "cannot be loaded"),
                             (library("nothing.so", source=tmp_path / "empty.c"), 3, "has no function RegisterCustomOps"),
                             (library("fails.so", "-DFAILS=\"no licence\""), 4, "no licence"),
                             (library("crashes.so", "-DCRASHES"), 4, "was killed by signal 6")):
        done = vernier("run", model, "--onnxrt", "--data", data, "--custom-ops", path, code=code)
        assert done.stderr.count("error:") == 1 and f"--custom-ops {path}" in done.stderr and text in done.stderr, done.stderr
    assert "out of operators" in done.stderr


def test_the_operators_of_onnxruntime_extensions(vernier, tmp_path):
    extensions = pytest.importorskip("onnxruntime_extensions")
    random = np.random.default_rng(2)
    nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], name="1", pads=[1, 1, 1, 1]),
             helper.make_node("NegPos", ["a"], ["below", "above"], name="split", domain="ai.onnx.contrib"),
             helper.make_node("Sub", ["above", "below"], ["s"], name="sub"), helper.make_node("Conv", ["s", "w2"], ["y"], name="2", pads=[1, 1, 1, 1])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8])], [weight("w1", 4, 3, 3, 3), weight("w2", 4, 4, 3, 3)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.contrib", 1)], ir_version=8),
              tmp_path / "m.onnx")
    np.savez(tmp_path / "x.npz", **{f"sample_{i}/x": random.standard_normal((1, 3, 8, 8)).astype(np.float32) for i in range(4)})
    library = extensions.get_library_path()
    vernier("diagnose", "m.onnx", "--fp16", "--min-sqnr", "40", "--data", "x.npz", "--custom-ops", library, "-o", "out")
    typed = onnx.load(tmp_path / "out/model.onnx")
    assert [one.data_type for one in typed.graph.initializer if one.name.startswith("w")] == [TensorProto.FLOAT16] * 2
    assert "NegPos" in [node.op_type for node in typed.graph.node]
