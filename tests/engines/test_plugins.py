"""`--plugins` of TensorRT: libraries that its process loads. The engines are those of stand_in; what the real compiler makes of
plugins that fit it is not tried."""
import shutil
import subprocess

import pytest

import test_runs
import test_trtexec
from test_runs import driver, model, vernier  # noqa: F401: fixtures

trtexec = test_trtexec.vernier


@pytest.fixture(scope="session")
def plugins(tmp_path_factory):
    """One that announces itself while it is loaded, and one that is asked for its plugins."""
    folder = tmp_path_factory.mktemp("plugins")
    compiler = shutil.which("cc") or shutil.which("gcc")
    for name, text in (("announced", "int announced = 1;"), ("asked", "int getCreators(void) { return 0; }")):
        (folder / "source.c").write_text(text)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / f"{name}.so", folder / "source.c"], check=True)
    return folder / "announced.so", folder / "asked.so"


def run(vernier, model, *options, **how):  # noqa: F811
    return test_runs.run(vernier, model, "--trt=native", *options, **how)


def test_they_are_loaded_before_a_model_is_read(vernier, model, plugins):  # noqa: F811
    done = run(vernier, model, "--plugins", *plugins)
    assert done.returncode == 0, done.stderr
    told = vernier.told()
    assert told["announced"] and told["own_plugins"] and told["plugins"] == [str(plugins[1])]
    assert run(vernier, model).returncode == 0 and not vernier.told()["announced"]


def test_repeated_and_by_the_names_that_trtexec_has(vernier, model, plugins):  # noqa: F811
    done = run(vernier, model, "--staticPlugins", plugins[0], "--dynamicPlugins", plugins[1])
    assert done.returncode == 0 and vernier.told()["announced"] and vernier.told()["plugins"] == [str(plugins[1])], done.stderr


@pytest.mark.parametrize("command", (
    ("verify", "m.onnx", "m.onnx", "--data", "x.npz", "--on", "tensorrt"),
    ("convert", "m.onnx", "--fp16", "-o", "m.engine"),
    ("convert", "m.onnx", "--fp16", "-o", "t.onnx", "--compile"),
    ("inspect", "engine", "m.onnx"),
    ("diagnose", "m.onnx", "--fp16", "--data", "x.npz", "--compile", "--min-sqnr", "30"),
    ("diagnose", "m.onnx", "--fp16", "--data", "x.npz", "--confirm-on", "tensorrt", "--min-sqnr", "30"),
    ("debug", "precision", "m.onnx", "--fp16", "--data", "x.npz", "--on", "tensorrt", "--min-sqnr", "30", "--journal", "none"),
    ("debug", "reduce", "m.onnx", "-o", "r.onnx", "--check-sim", "float16", "--min-sqnr", "200", "--data", "x.npz", "--on", "tensorrt"),
    ("pipeline", "--stage", "float:m.onnx", "--stage", "engine:m.onnx@tensorrt", "--data", "x.npz"),
), ids=" ".join)
def test_everywhere_where_tensorrt_is_asked(vernier, model, plugins, command):  # noqa: F811
    done = vernier(*command, "--plugins", *plugins)
    assert done.returncode == 0 and "no effect" not in done.stderr, done.stdout + done.stderr
    assert vernier.told()["announced"] and vernier.told()["plugins"] == [str(plugins[1])]


def test_built_engines_and_the_parser_get_them_too(vernier, model, plugins):  # noqa: F811
    assert run(vernier, model, "--save-engine", "m.engine").returncode == 0
    for command in (("inspect", "engine", "m.engine"), ("run", "m.engine", "--trt", "--data", "x.npz"), ("inspect", "capability", "m.onnx")):
        done = vernier(*command, "--plugins", *plugins)
        assert done.returncode == 0 and "no effect" not in done.stderr, done.stderr
        assert vernier(*command, "--plugins", "none.so").returncode == 4


@pytest.mark.parametrize("path, text", (("none.so", "none.so: cannot be loaded"), ("m.onnx", "m.onnx: cannot be loaded")))
def test_what_cannot_be_loaded_is_one_error_before_anything_is_measured(vernier, model, path, text):  # noqa: F811
    for command in (("run", model, "--trt", "--data", "x.npz"), ("convert", model, "--fp16", "-o", "m.engine"), ("inspect", "engine", model),
                    ("diagnose", model, "--fp16", "--data", "x.npz", "--confirm-on", "tensorrt", "--min-sqnr", "30")):
        done = vernier(*command, "--plugins", path)
        assert done.returncode == 4 and done.stderr.count("error:") == 1 and text in done.stderr and "--plugins" in done.stderr, done.stderr


def test_what_registers_nothing(vernier, model, plugins):  # noqa: F811
    done = run(vernier, model, "--plugins", *plugins, mode="refuse@plugins")
    assert done.returncode == 4 and "asked.so: its plugins cannot be registered" in done.stderr


@pytest.mark.parametrize("command", (
    ("run", "m.onnx", "--onnxrt", "--data", "x.npz"), ("run", "m.onnx", "--trt=sim", "--data", "x.npz"),
    ("verify", "m.onnx", "m.onnx", "--data", "x.npz"), ("convert", "m.onnx", "--fp16", "-o", "t.onnx"),
    ("diagnose", "m.onnx", "--fp16", "--data", "x.npz"), ("calibrate", "m.onnx", "--data", "x.npz", "-o", "r.json"),
    ("inspect", "capability", "m.onnx", "--target", "onnxruntime"), ("surgeon", "sanitize", "m.onnx", "-o", "s.onnx", "--data", "x.npz"),
), ids=" ".join)
def test_where_nothing_runs_on_tensorrt_a_warning_says_so(vernier, model, plugins, command):  # noqa: F811
    done = vernier(*command, "--plugins", plugins[0], gpu=False)
    assert done.returncode == 0 and done.stderr.count("--plugins has no effect") == 1, done.stderr


def test_trtexec_is_told_by_the_option_that_fits_each(trtexec, model, plugins):  # noqa: F811
    done = test_trtexec.run(trtexec, model, "--plugins", *plugins)
    assert done.returncode == 0, done.stderr
    assert all(told["staticPlugins"] == str(plugins[0]) and told["dynamicPlugins"] == str(plugins[1]) for told in trtexec.told())
    done = test_trtexec.run(trtexec, model, "--plugins", "none.so")
    assert done.returncode == 4 and "none.so: cannot be read" in done.stderr


def test_a_path_is_taken_from_the_folder_of_the_user(vernier, model, plugins, tmp_path):  # noqa: F811
    shutil.copy(plugins[1], tmp_path / "near.so")
    done = run(vernier, model, "--plugins", "near.so")
    assert done.returncode == 0 and vernier.told()["plugins"] == [str(tmp_path / "near.so")], done.stderr
