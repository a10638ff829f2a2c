# Holds an engine in the user's Python. It asks for work as long as there is any,
#
#   {"next": 1}          answered by {"do": NAME, ...}, one of the functions that the engine's own program hands to
#                        serve(), or {} when all is done
#
# and says what came of it, with what the engine itself said about it last:
#
#   {"done": {...}, "words": [...]}
#   {"refused": text, "hint": text, "words": [...]}
#
# The engine's own program stands behind this text.
import math, time

MOST_WORDS = 20


class Refused(Exception):
    def __init__(self, text, hint=""):
        Exception.__init__(self, text)
        self.hint = hint


def serve(functions, words):
    """`functions`: by name, each gets the rest of the work and returns what it gave. `words`: what the engine has said
    since it was asked last, the worst of it."""
    while True:
        tell(next=1)
        work = answer()
        if not work:
            break
        try:
            came = {"done": functions[work.pop("do")](**work)}
        except Refused as refusal:
            came = {"refused": clean(refusal), "hint": clean(refusal.hint)}
        except Exception as error:
            text = first_line(error)
            came = {"refused": clean("raised {}{}".format(type(error).__name__, ": " + text if text else "")), "hint": ""}
        tell(words=[clean(word) for word in words()[-MOST_WORDS:]], **came)
    tell(end=1)
    leave(0)


# Arrays cross in files, one behind the other, each as
#
#   {"name": text, "type": "float32", "shape": [1, 3], "offset": bytes, "bytes": bytes}
#
def read_arrays(path, places):
    """What lies in the file: the places, each with its bytes."""
    with open(path, "rb") as file:
        for place in places:
            file.seek(place["offset"])
            yield dict(place, data=file.read(place["bytes"]))


def write_arrays(path, arrays):
    """`arrays`: name, type, shape, bytes. Gives their places."""
    places, offset = [], 0
    with open(path, "wb") as file:
        for name, type, shape, data in arrays:
            file.write(data)
            places.append({"name": clean(name), "type": type, "shape": [int(size) for size in shape], "offset": offset,
                           "bytes": len(data)})
            offset += len(data)
    return places


def split_plugins(arguments):
    """What stands before --plugins, and the libraries behind it."""
    at = arguments.index("--plugins") if "--plugins" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1:]


def repeated(once, seconds, least, most, skip):
    """What `once` says of each run: as many as fit into `seconds`, from `least` to `most`, behind `skip` that do not
    count."""
    for _ in range(skip):
        once()
    said, end = [], time.perf_counter() + seconds
    while len(said) < least or (len(said) < most and time.perf_counter() < end):
        said.append(once())
        if not math.isfinite(said[-1]):  # JSON has no word for it
            raise Refused("gives {} as the seconds of a run".format(said[-1]))
    return said


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def one_of(settings, name):
    """The value of a setting that takes one; None where it is not given."""
    values = settings.pop(name, None)
    return values[-1] if values else None


def one_of_two(settings, name, other):
    first, second = one_of(settings, name), one_of(settings, other)
    return first or second
