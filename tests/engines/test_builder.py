"""What TensorRT's builder is told beside a typed file: weakly typed networks, tactic replays, scripts that configure it. The engine is
stand_in/tensorrt as release 10 or 11; release 10 itself has never run here."""
import json
import struct
import subprocess

import pytest

from test_runs import PROGRAM, driver, model, run, vernier  # noqa: F401: fixtures


def inspect(folder, *arguments):
    return subprocess.run([PROGRAM, "inspect", *arguments], cwd=folder, capture_output=True, text=True)


@pytest.fixture
def ten(monkeypatch):
    monkeypatch.setenv("STAND_IN_RELEASE", "10")


def cache(path, kind="EntropyCalibration2", **scales):
    lines = [f"{name}: {struct.pack('>f', scale).hex()}" for name, scale in scales.items()]
    path.write_text(f"TRT-100300-{kind}\n" + "\n".join(lines) + "\n")
    return path


def test_a_weakly_typed_engine_gets_the_file_and_what_its_builder_may_do(vernier, model, tmp_path, ten):  # noqa: F811
    (tmp_path / "script.py").write_text("def postprocess(network):\n    network.get_layer(1).name += ' seen'\n")
    done = run(vernier, model, "--trt=native", "--weakly-typed", "--int8", "--fp16", "--calibration-cache", cache(tmp_path / "c", x=0.02),
               "--layer-precisions", "sec*:float16", "--precision-constraints", "obey", "--trt-npps", "script.py")
    assert "trt-weak-runner-N0" in done.stdout, done.stderr
    told = vernier.told()
    assert told["weakly_typed"] and told["operators"] == ["MatMul", "Relu", "MatMul"]
    assert sorted(told["flags"]) == ["FP16", "INT8", "OBEY_PRECISION_CONSTRAINTS"] and told["precisions"] == {"second": "HALF"}
    assert told["ranges"] == (tmp_path / "c").read_text() and told["calibrator"] == "IInt8EntropyCalibrator2"
    cache(tmp_path / "c", "MinMaxCalibration", x=0.02)
    run(vernier, model, "--trt=native", "--weakly-typed", "--int8", "--calibration-cache", "c")
    assert vernier.told()["calibrator"] == "IInt8MinMaxCalibrator" and vernier.told()["flags"] == ["INT8"]


def test_ranges_of_a_weakly_typed_engine_are_learned_where_no_cache_has_them(vernier, model, tmp_path, ten):  # noqa: F811
    assert run(vernier, model, "--trt=native", "--weakly-typed", "--int8").returncode in (0, 1)
    first, *ranges = vernier.told()["ranges"].splitlines()
    assert first.startswith("TRT-") and {"x", "h", "r"} & {line.rpartition(": ")[0] for line in ranges}
    run(vernier, model, "--trt=native", "--weakly-typed", "--int8", "--calibration-cache", "new")
    assert (tmp_path / "new").read_text() == vernier.told()["ranges"]


@pytest.mark.parametrize("options, code, says", [
    (["--trt=native", "--weakly-typed", "--fp16"], 4, "tensorrt builds strongly typed networks alone"),
    (["--sim", "--weakly-typed", "--fp16"], 2, "--weakly-typed was given, but not --trt"),
])
def test_what_knows_no_weak_types_says_so(vernier, model, options, code, says):  # noqa: F811
    done = run(vernier, model, *options)
    assert done.returncode == code and says in done.stderr, done.stderr


def test_weak_types_mean_nothing_in_simulation_or_for_a_typed_file(vernier, model, ten):  # noqa: F811
    done = run(vernier, model, "--trt=sim", "--weakly-typed", "--fp16")
    assert done.returncode == 0 and "--weakly-typed has no effect in simulation" in done.stderr
    assert vernier("convert", model, "--fp16", "-o", "typed.onnx").returncode == 0
    done = run(vernier, "typed.onnx", "--trt=native", "--weakly-typed")
    assert done.returncode == 2 and "typed.onnx says the format of each layer" in done.stderr
    done = vernier("run", model, "--trt=native", "--weakly-typed", "--int8", "--input-shapes", "x:[2,4]", "-q")
    assert done.returncode == 2 and "no ranges, which random inputs do not give" in done.stderr


def test_tactics_are_saved_and_played_back(vernier, model, tmp_path, ten):  # noqa: F811
    done = run(vernier, model, "--trt=native", "--save-tactics", "replay.json")
    assert done.returncode == 0, done.stderr
    assert vernier.told()["chosen"] == [12, 12, 12]
    replay = json.loads((tmp_path / "replay.json").read_text())
    assert set(replay["replay"]) == {"first", "relu", "second"} and replay["polygraphy_class"] == "TacticReplayData"
    assert inspect(tmp_path, "tactics", "replay.json").stdout.count("Tactic: 12") == 3
    replay["replay"]["relu"]["tactic"] = 13
    (tmp_path / "other.json").write_text(json.dumps(replay))
    assert run(vernier, model, "--trt=native", "--load-tactics", "other.json").returncode == 0
    assert vernier.told()["chosen"] == [12, 13, 12]
    replay["replay"]["relu"]["tactic"] = 99
    (tmp_path / "other.json").write_text(json.dumps(replay))
    done = run(vernier, model, "--trt=native", "--load-tactic-replay", "other.json", "--save-engine", "m.engine")
    assert done.returncode == 4 and "it does not offer what the replay says of layer 'relu'" in done.stderr
    assert not (tmp_path / "m.engine").exists()


@pytest.mark.parametrize("text, says", [("{", "no tactic replay"), ('{"replay": 5}', "no tactic replay"), ("[]", "no tactic replay"),
                                        ('{"replay": {"relu": 5}}', "no tactic replay")])
def test_a_replay_that_is_none_is_an_error(vernier, model, tmp_path, ten, text, says):  # noqa: F811
    (tmp_path / "bad.json").write_text(text)
    done = run(vernier, model, "--trt=native", "--load-tactics", "bad.json")
    assert done.returncode == 4 and says in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_an_engine_without_selectors_says_what_keeps_choices_there(vernier, model):  # noqa: F811
    done = run(vernier, model, "--trt=native", "--save-tactics", "replay.json")
    assert done.returncode == 4 and "--save-tactics: tensorrt has no algorithm selector" in done.stderr
    assert "--save-timing-cache" in done.stderr
    done = run(vernier, model, "--trt=sim", "--save-tactics", "replay.json")
    assert done.returncode == 4 and "--save-tactics: this command builds no engine, so nothing would be written" in done.stderr


def test_debug_build_builds_engines_and_keeps_their_tactics(vernier, model, tmp_path, ten):  # noqa: F811
    """The check calls the second build bad."""
    check = "head -c 4 polygraphy_debug.engine | grep -q ftrt || exit 2; n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; test $n != 1"
    done = vernier("debug", "build", model, "--fp16", "--until", "3", "--save-tactics", "replay.json", "--artifacts", "replay.json", "--check",
                   "sh", "-c", check)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "polygraphy_artifacts/good").iterdir())) == 2 and len(list((tmp_path / "polygraphy_artifacts/bad").iterdir())) == 1
    assert "typed ONNX" not in done.stderr
    done = inspect(tmp_path, "diff-tactics", "--dir", "polygraphy_artifacts")
    assert "No tactic of the bad replays is absent" in done.stdout


def test_debug_build_without_an_engine_writes_typed_models(vernier, model, tmp_path):  # noqa: F811
    line = ["debug", "build", model, "--fp16", "--until", "2"]
    check = ["--check", "test", "-s", "polygraphy_debug.engine"]
    done = vernier(*line, "--tactic-sources", "cublas", *check, gpu=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("is a typed ONNX model") == 1
    done = vernier(*line, "--save-tactics", "replay.json", *check, gpu=False)
    assert done.returncode == 4 and done.stdout == "", done.stdout
    assert done.stderr.count("--save-tactics: this command builds no engine, so nothing would be written") == 1


def test_scripts_configure_the_builder(vernier, model, tmp_path):  # noqa: F811
    (tmp_path / "edit.py").write_text("def postprocess_config(builder, network, config):\n    config.builder_optimization_level = 1\n"
                                      "def other(builder, network, config):\n    config.builder_optimization_level = network.num_inputs\n")
    assert run(vernier, model, "--trt=native", "--builder-optimization-level", "5", "--trt-cpps", "edit.py").returncode == 0
    assert vernier.told()["level"] == 1
    (tmp_path / "make.py").write_text("import tensorrt as trt\ndef load_config(builder, network):\n    config = builder.create_builder_config()\n"
                                      "    config.set_flag(trt.BuilderFlag.TF32)\n    return config\ndef none(builder, network):\n    pass\n")
    assert run(vernier, model, "--trt=native", "--trt-config-script", "make.py").returncode == 0
    assert vernier.told()["flags"] == ["TF32"] and vernier.told()["profile"], "a profile is added where it has none"
    for options, says in ((["--trt-config-script", "make.py:none"], "gave no configuration"),
                          (["--trt-config-script", "make.py:absent"], "has no function 'absent'"),
                          (["--trt-config-script", "none.py"], "none.py: FileNotFoundError"),
                          (["--trt-config-script", "make.py", "--max-aux-streams", "1"], "makes the whole configuration, and --max-aux-streams")):
        done = run(vernier, model, "--trt=native", *options)
        assert done.returncode == 4 and says in done.stderr, done.stderr
    done = run(vernier, model, "--trt=sim", "--trt-cpps", "edit.py")
    assert done.returncode == 0 and "--trt-cpps has no effect" in done.stderr
