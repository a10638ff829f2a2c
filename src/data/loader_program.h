// The program that runs a data loader script, in the user's Python: python3 -c kLoaderStart SCRIPT FUNCTION LIMIT. It
// is itself at the start of the file that is descriptor 3, where neither a list of processes nor messages of other
// programs repeat it. Behind it, it writes the bytes of the arrays, and to its standard output one line of JSON for
// each sample, then one more:
//
//   {"sample": [[input, dtype, [dim, ...], offset], ...]}    dtype as numpy names it, "<f4"; little-endian, C order
//   {"end": samples}                                         all is well
//   {"error": text, "hint": text, "at": "script" | "function" | "sample", "names": [...]}   the functions there are
//
// What the script prints goes to standard error. Descriptor 4 is a pipe that nobody writes to: when it ends, the
// program that started this one is gone, and this one ends too. Python 3.6 or newer.
#pragma once

#include <string_view>

namespace vernier {

inline constexpr char kLoaderStart[] = "import os; exec(compile(os.pread(3, 65536, 0), '<vernier>', 'exec'))";

inline constexpr std::string_view kLoaderProgram = R"python(
import sys
sys.path[:] = [folder for folder in sys.path if folder]  # a json.py in this folder is not the one that is meant
import inspect, json, os, signal, threading, tokenize, traceback, types
from collections.abc import Mapping

SCRIPT, FUNCTION, LIMIT = sys.argv[1], sys.argv[2], int(sys.argv[3])
DATA, LIFELINE = 3, 4
WANTED = "it must yield, for each sample, a dict {input name: numpy array}"

os.set_inheritable(DATA, False)
os.set_inheritable(LIFELINE, False)
index = os.fdopen(os.dup(1), "w", encoding="ascii")
os.dup2(2, 1)
if hasattr(sys.stdout, "reconfigure"):
    sys.stdout.reconfigure(line_buffering=True)


def end_with_parent():
    os.read(LIFELINE, 1)
    os.killpg(0, signal.SIGKILL)


threading.Thread(target=end_with_parent, daemon=True).start()


def clean(text):
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


def tell(**what):
    index.write(json.dumps(what) + "\n")
    index.flush()


def leave(code):
    # Threads of the script that never end must not keep it running.
    timer = threading.Timer(3, os._exit, [code])
    timer.daemon = True
    timer.start()
    sys.exit(code)


def fail(at, text, hint="", names=()):
    sys.stdout.flush()
    sys.stderr.flush()
    tell(error=clean(text), hint=clean(hint), at=at, names=[clean(name) for name in names])
    leave(1)


def first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else ""


def kind(value):
    if value is None:
        return "None"
    if isinstance(value, numpy.ndarray):
        return "a numpy array"
    name = type(value).__name__
    article = "an" if name[0] in "aeiou" else "a"
    return article + " " + name + (" of " + str(len(value)) if isinstance(value, (tuple, list)) else "")


def raised(at, error):
    if isinstance(error, SystemExit):
        fail(at, "called sys.exit({})".format("" if error.code is None else error.code))
    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename in ("<string>", "<vernier>"):
        frames = frames.tb_next
    sys.stdout.flush()
    traceback.print_exception(type(error), error, frames)
    line = ""
    while frames:
        if frames.tb_frame.f_code.co_filename == SCRIPT:
            line = " (line {})".format(frames.tb_lineno)
        frames = frames.tb_next
    if isinstance(error, ModuleNotFoundError) and error.name:
        fail(at, "needs the module '{}', which {} does not have{}".format(error.name, sys.executable, line),
             "--python PROGRAM names the Python that has it")
    text = first_line(error)
    fail(at, "raised {}{}{}".format(type(error).__name__, ": " + text if text else "", line),
         "the traceback is above")


try:
    import numpy
except Exception as error:
    fail("script", "cannot be run: {} has no numpy ({})".format(sys.executable, first_line(error)),
         "install numpy there, or name the Python that has it: --python PROGRAM")


def load_module():
    try:
        with tokenize.open(SCRIPT) as file:
            source = file.read()
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        fail("script", "cannot be read: {}".format(getattr(error, "strerror", None) or first_line(error)))
    name = os.path.basename(SCRIPT)[:-3]
    module = types.ModuleType(name if name not in sys.modules else "vernier_" + name)
    module.__file__ = SCRIPT
    sys.modules[module.__name__] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(SCRIPT)))  # as for a script that is run
    sys.argv[:] = [SCRIPT]
    try:
        exec(compile(source, SCRIPT, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        raised("script", error)
    return module


def find_function(module):
    function = getattr(module, FUNCTION, None)
    if function is None:
        fail("script", "has no function '{}'".format(FUNCTION), names=[
            name for name, value in vars(module).items()
            if callable(value) and getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")])
    if not callable(function):
        fail("script", "'{}' is {}, not a function".format(FUNCTION, kind(function)))
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        fail("function", "cannot be called without arguments: {}".format(first_line(error)),
             "give its parameters defaults, or name another function: file.py:function")
    except ValueError:
        pass  # a function of C that does not say what it takes
    return function


def start(function):
    try:
        produced = function()
        if not isinstance(produced, Mapping) and (hasattr(type(produced), "__iter__") or
                                                  hasattr(type(produced), "__getitem__")):
            return iter(produced)
    except BaseException as error:
        raised("function", error)
    fail("function", "returned {}".format(kind(produced)), WANTED if not isinstance(produced, Mapping) else
         "one sample is not a list of samples: " + WANTED)


def array_of(name, value):
    try:
        for step in ("detach", "cpu", "numpy"):  # torch, TensorFlow
            if callable(getattr(value, step, None)):
                value = getattr(value, step)()
        array = numpy.asarray(value)
    except Exception as error:
        fail("sample", "input '{}': {} cannot become a numpy array: {}".format(name, kind(value), first_line(error)))
    bfloat16 = array.dtype.name == "bfloat16"
    if not bfloat16 and array.dtype.kind not in "biufc":
        fail("sample", "input '{}': {} is no array of numbers, but of {}".format(name, kind(value), array.dtype))
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    if not array.flags.c_contiguous:
        array = array.copy("C")
    return array, "bfloat16" if bfloat16 else array.dtype.str


position = os.lseek(DATA, 0, os.SEEK_CUR)


def write(view):
    global position
    while len(view):
        written = os.write(DATA, view)
        position += written
        view = view[written:]


def keep(sample):
    if not isinstance(sample, Mapping):
        fail("sample", "is {}, not a dict".format(kind(sample)), WANTED)
    arrays = []
    for name, value in sample.items():
        if not isinstance(name, str):
            fail("sample", "has the key {!r}, which is no input name".format(name), WANTED)
        array, dtype = array_of(name, value)
        try:
            write(memoryview(bytes(-position % 64)))  # so that arrays are aligned
            arrays.append([clean(name), dtype, list(array.shape), position])
            if array.size:
                write(array.reshape(-1).view(numpy.uint8).data)
        except OSError as error:
            fail("sample", "cannot be kept in the temporary file: {} after {:,} bytes".format(error.strerror, position),
                 "--samples N takes fewer; TMPDIR chooses the folder")
    tell(sample=arrays)


def main():
    samples = start(find_function(load_module()))
    count = 0
    while LIMIT == 0 or count < LIMIT:
        try:
            sample = next(samples)
        except StopIteration:
            break
        except BaseException as error:
            raised("sample", error)
        keep(sample)
        count += 1
    tell(end=count)
    leave(0)


main()
)python";
static_assert(kLoaderProgram.size() < 65536);

}  // namespace vernier
