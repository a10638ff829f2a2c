# What every program that runs a user's script begins with. It is started as
#
#   python3 -c START SCRIPT FUNCTION ...
#
# and is itself at the start of the file that is descriptor 3, where neither a list of processes nor messages of other
# programs repeat it. To its standard output it writes lines of JSON. Which, depends on the program behind this text,
# but the last one is always
#
#   {"end": ...}                                             all is well
#   {"error": text, "hint": text, "at": "script" | "function" | ..., "names": [...]}   the functions there are
#
# What the script prints goes to standard error. Python 3.6 or newer.
import sys
sys.path[:] = [folder for folder in sys.path if folder]  # a json.py in this folder is not the one that is meant
import inspect, json, os, threading, tokenize, traceback, types
from collections.abc import Mapping

SCRIPT, FUNCTION = sys.argv[1], sys.argv[2]
DATA = 3
OURS = ("<string>", "<vernier>")

os.set_inheritable(DATA, False)
index = os.fdopen(os.dup(1), "w", encoding="ascii")
os.dup2(2, 1)
if hasattr(sys.stdout, "reconfigure"):
    sys.stdout.reconfigure(line_buffering=True)


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
    """Without the letters that mark what texts of ours name (vernier/marks.h)."""
    lines = str(error).replace("\u2039", "<").replace("\u203a", ">").strip().splitlines()
    return lines[0][:300] if lines else ""


def kind(value):
    if value is None:
        return "None"
    if type(value).__module__ == "numpy" and type(value).__name__ == "ndarray":
        return "a numpy array"
    name = type(value).__name__
    article = "an" if name[0] in "aeiou" else "a"
    return article + " " + name + (" of " + str(len(value)) if isinstance(value, (tuple, list)) else "")


def print_traceback(error):
    """As Python prints it, without the lines of this program."""
    told = traceback.TracebackException(type(error), error, error.__traceback__)
    left, seen = [told], set()
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.stack = traceback.StackSummary.from_list([line for line in one.stack if line.filename not in OURS])
        left += [one.__cause__, one.__context__]
    sys.stdout.flush()
    sys.stderr.write("".join(told.format()))


def raised(at, error):
    if isinstance(error, SystemExit):
        fail(at, "called sys.exit({})".format("" if error.code is None else error.code))
    print_traceback(error)
    line = ""
    frames = error.__traceback__
    while frames:
        if frames.tb_frame.f_code.co_filename == SCRIPT:
            line = " (line {})".format(frames.tb_lineno)
        frames = frames.tb_next
    if isinstance(error, ModuleNotFoundError) and error.name:
        fail(at, "needs the module '{}', which {} does not have{}".format(error.name, sys.executable, line),
             "‹python› PROGRAM names the Python that has it")
    text = first_line(error)
    fail(at, "raised {}{}{}".format(type(error).__name__, ": " + text if text else "", line),
         "the traceback is above")


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


def find_function(module, name, *given, **arguments):
    function = getattr(module, name, None)
    if function is None:
        fail("script", "has no function '{}'".format(name), names=[
            name for name, value in vars(module).items()
            if callable(value) and getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")])
    if not callable(function):
        fail("script", "'{}' is {}, not a function".format(name, kind(function)))
    try:
        # What a decorator wraps may take other arguments than the wrapper.
        inspect.signature(function, follow_wrapped=False).bind(*given, **arguments)
    except TypeError as error:
        if given:
            fail("function", "cannot be called with {} argument{}: {}".format(
                len(given), "s" if len(given) > 1 else "", first_line(error)))
        if arguments:
            fail("function", "cannot be called as {}({}): {}".format(
                name, ", ".join(key + "=" + key for key in arguments), first_line(error)),
                "its parameters must be called: " + ", ".join(arguments))
        fail("function", "cannot be called without arguments: {}".format(first_line(error)),
             "give its parameters defaults, or name another function: file.py:function")
    except ValueError:
        pass  # a function of C that does not say what it takes
    return function


def write(view):
    """Appends to the file that both sides share, and returns where the bytes are."""
    position = os.lseek(DATA, 0, os.SEEK_CUR)
    while len(view):
        view = view[os.write(DATA, view):]
    return position


