"""Saved inputs and results against Polygraphy itself: files of each are read by the other, and are the same bytes where the
same values are written. Values are printed as NumPy prints them.
"""
import collections
import subprocess
import sys

import numpy as np
import pytest

from typed_files import PROGRAM

pytest.importorskip("polygraphy", reason="no Polygraphy in this Python")
from polygraphy.comparator import IterationResult, RunResults  # noqa: E402
from polygraphy.json import load_json, save_json, serde  # noqa: E402

rng = np.random.default_rng(5)
TYPES = ["float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]


def vernier(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout


def array(dtype, shape):
    values = rng.integers(0, 2, shape) if dtype == "bool" else np.abs(rng.standard_normal(shape) * 50)
    signed = dtype != "bool" and np.dtype(dtype).kind != "u"
    return np.asarray(values * rng.choice([-1, 1], shape) if signed else values).astype(dtype)


def outputs():
    made = {f"{dtype}/{len(shape)}": array(dtype, shape) for dtype in TYPES for shape in [(), (3,), (2, 1, 5), (0, 4), (1234, 7)]}
    made['quote " slash \\ / tab \t bell \x07 delete \x7f ä € 😀'] = array("float32", (2, 2))
    made[""] = array("float32", (1,))
    return made


def runs(iterations=3):
    made = RunResults()
    for name in ["onnxrt-runner-N0-11/20/26-23:59:53", "zweiter ä"]:
        times = [0.008432149887084961, None, 1e-7, 12345.0, 1e22][:iterations]
        made.append((name, [IterationResult(outputs(), time, name) for time in times]))
    return made


def equal(one, other):
    assert list(one.keys()) == list(other.keys())
    for name in one.keys():
        assert one[name].dtype == other[name].dtype and one[name].shape == other[name].shape, name
        assert one[name].tobytes() == other[name].tobytes(), name


def test_results_are_read_and_written_as_the_same_bytes(tmp_path):
    runs(5).save(str(tmp_path / "theirs.json"))
    vernier("data", "concat", tmp_path / "theirs.json", "-o", tmp_path / "ours.json")
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()


def test_a_folder_of_results_holds_the_same_bytes(tmp_path):
    made = runs()
    made.save(str(tmp_path / "theirs.json"))
    writer = serde.IterationWriter(str(tmp_path / "theirs"))
    for iteration in made.split():
        writer.append(iteration)
    writer.flush()
    vernier("data", "concat", tmp_path / "theirs.json", "-o", tmp_path / "ours")
    names = sorted(path.name for path in (tmp_path / "theirs").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "ours").iterdir()) and len(names) == 3
    for name in names:
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()
    # And back: their folder as one file.
    vernier("data", "concat", tmp_path / "theirs", "-o", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()


def test_inputs_are_read_and_written_as_the_same_bytes(tmp_path):
    for samples in ([outputs(), {}, outputs()], []):
        save_json(samples, str(tmp_path / "theirs.json"))
        vernier("data", "concat", tmp_path / "theirs.json", "-o", tmp_path / "ours.json")
        assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()


def test_other_forms_of_arrays_are_read(tmp_path):
    made = runs()
    text = serde.to_json(made).replace('"LazyArray"', '"LazyNumpyArray"')
    (tmp_path / "old.json").write_text(text)
    made.save(str(tmp_path / "theirs.json"))
    vernier("data", "concat", tmp_path / "old.json", "-o", tmp_path / "ours.json")
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()


def test_arrays_in_fortran_order_are_read(tmp_path):
    value = np.asfortranarray(array("float32", (3, 4, 5)))
    save_json([{"x": value}], str(tmp_path / "theirs.json"))
    assert not value.flags.c_contiguous  # so NumPy writes the bytes as they lie
    vernier("data", "concat", tmp_path / "theirs.json", "-o", tmp_path / "ours.json")
    assert np.array_equal(load_json(str(tmp_path / "ours.json"))[0]["x"], value)


def test_they_read_what_we_write(tmp_path):
    made = runs()
    made.save(str(tmp_path / "theirs.json"))
    vernier("data", "concat", tmp_path / "theirs.json", tmp_path / "theirs.json", "-o", tmp_path / "ours.json")
    read = RunResults.load(str(tmp_path / "ours.json"))
    assert list(read.keys()) == list(made.keys())
    for name, iterations in read.items():
        assert len(iterations) == 6
        for index, iteration in enumerate(iterations):
            equal(iteration, made[name][index % 3])
            assert iteration.runtime == made[name][index % 3].runtime


def peer(*arguments):
    program = "import sys; from polygraphy.tools import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=True)


def test_merge_makes_the_same_inputs_of_one_iteration(tmp_path):
    results = RunResults()
    results.append(("r", [IterationResult({"y": array("float32", (2, 3)), "z": array("int64", ())}, 0.5, "r")]))
    results.save(str(tmp_path / "results.json"))
    save_json([{"x": array("float16", (4,)), "z": array("int64", ())}], str(tmp_path / "inputs.json"))
    files = [tmp_path / "inputs.json", tmp_path / "results.json"]
    peer("data", "merge", *files, "-o", tmp_path / "theirs.json")
    vernier("data", "merge", *files, "-o", tmp_path / "ours.json")
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()


def test_merge_keeps_every_iteration(tmp_path):
    """Theirs gives the last iteration as many times as there are iterations."""
    made = runs()
    del made.lst[1:]
    made.save(str(tmp_path / "results.json"))
    vernier("data", "to-input", tmp_path / "results.json", "-o", tmp_path / "ours.json")
    read = load_json(str(tmp_path / "ours.json"))
    assert len(read) == 3
    for sample, iteration in zip(read, made.lst[0][1]):
        equal(sample, collections.OrderedDict(iteration.items()))


def test_their_inspection_and_ours_say_the_same(tmp_path):
    made = RunResults()
    made.append(("r", [IterationResult({"y": array("float32", (4, 5)), "z": array("int64", (3,)), "b": array("bool", (2,))}, 0.5, "r")] * 2))
    made.save(str(tmp_path / "r.json"))
    theirs = peer("inspect", "data", tmp_path / "r.json", "--show-values").stdout
    ours = vernier("inspect", "data", tmp_path / "r.json", "--show-values")
    # Theirs is a log: a prefix, an indentation of four, and its own blank lines.
    lines = [line.removeprefix("[I] ").removeprefix("    ").rstrip() for line in theirs.splitlines() if not line.startswith("[W]")]
    assert [line for line in lines if line] == [line for line in ours.splitlines() if line]


def values_in(text):
    """The lines of values behind the one line of each array."""
    blocks, lines = {}, text.splitlines()
    for line in lines:
        if " | Stats: " in line:
            name = line.split(" [dtype=")[0]
            blocks[name] = []
        elif line.startswith("    "):
            blocks[name].append(line[4:])
    return blocks


@pytest.mark.parametrize("edge,width", [(3, 75), (1, 40), (-1, 75), (2, -1), (5, 20)])
def test_values_are_printed_as_numpy_prints_them(edge, width, tmp_path):
    arrays = {}
    for dtype in TYPES:
        for shape in [(), (1,), (3,), (2, 3), (2, 2, 3), (7, 300), (3, 2, 20, 20), (0, 3), (1, 1, 1, 40)]:
            arrays[f"{dtype}{shape}"] = array(dtype, shape)
    for number, values in enumerate([[np.nan], [np.inf, 1], [-np.inf, np.nan, 2.5], [1e-5, 1], [1e9, 1], [1e100, -1e-100], [0, -0.0],
                                     [1 / 3, 2 / 3], [1e-9, 1e9], [123456.789, 0.1], [1e7, 2.5], [0.1] * 30]):
        for dtype in ["float64", "float32", "float16"]:
            with np.errstate(over="ignore"):
                arrays[f"special {number} {dtype}"] = np.array(values).astype(dtype)
                arrays[f"special {number} {dtype} scalar"] = np.array(values[0]).astype(dtype)
    np.savez(tmp_path / "a.npz", **{str(i): value for i, value in enumerate(arrays.values())})
    printed = values_in(vernier("inspect", "data", tmp_path / "a.npz", "-s", "-n", edge, "--line-width", width))
    wrong = []
    with np.printoptions(edgeitems=sys.maxsize if edge == -1 else edge, linewidth=sys.maxsize if width == -1 else width):
        for i, (name, value) in enumerate(arrays.items()):
            if printed[str(i)] != str(value).splitlines():
                if not all(line == "" for line in str(value).splitlines()):
                    wrong.append((name, str(value), "\n".join(printed[str(i)])))
    assert not wrong, f"{len(wrong)} of {len(arrays)}; the first: {wrong[0]}"
