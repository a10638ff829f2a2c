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


def nvidia_devices():
    """The GPUs that the driver names, and why there is none. No package is needed for that."""
    import ctypes
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return [], "there is no NVIDIA driver (libcuda.so.1)"
    code = cuda.cuInit(0)
    if code != 0:
        return [], "the NVIDIA driver gives error {}".format(code)
    count = ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(count))
    found = []
    for index in range(count.value):
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        memory, name = ctypes.c_size_t(), ctypes.create_string_buffer(256)
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDeviceGetName(name, len(name), device)
        cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        found.append({"name": name.value.decode("utf-8", "replace"), "memory": memory.value,
                      "capability": "{}.{}".format(major.value, minor.value)})
    return found, "" if found else "the NVIDIA driver names no GPU"


