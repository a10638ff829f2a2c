# Runs a data loader script: SCRIPT FUNCTION LIMIT. Behind this program, it writes the bytes of the arrays to
# descriptor 3, and for each sample one line:
#
#   {"sample": [[input, dtype, [dim, ...], offset], ...]}    dtype as numpy names it, "<f4"; little-endian, C order
#
# The last one is {"end": samples}; errors may be "at" the "sample" too.
LIMIT = int(sys.argv[3])
WANTED = "it must yield, for each sample, a dict {input name: numpy array}"

try:
    import numpy
except Exception as error:
    fail("script", "cannot be run: {} has no numpy ({})".format(sys.executable, first_line(error)),
         "install numpy there, or name the Python that has it: ‹python› PROGRAM")


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


def keep(sample):
    if not isinstance(sample, Mapping):
        fail("sample", "is {}, not a dict".format(kind(sample)), WANTED)
    arrays = []
    for name, value in sample.items():
        if not isinstance(name, str):
            fail("sample", "has the key {!r}, which is no input name".format(name), WANTED)
        array, dtype = array_of(name, value)
        position = os.lseek(DATA, 0, os.SEEK_CUR)
        try:
            write(memoryview(bytes(-position % 64)))  # so that arrays are aligned
            position += -position % 64
            arrays.append([clean(name), dtype, list(array.shape), position])
            if array.size:
                write(array.reshape(-1).view(numpy.uint8).data)
        except OSError as error:
            fail("sample", "cannot be kept in the temporary file: {} after {:,} bytes".format(
                error.strerror, os.lseek(DATA, 0, os.SEEK_CUR)),
                "‹samples› N takes fewer; TMPDIR chooses the folder")
    tell(sample=arrays)


def main():
    samples = start(find_function(load_module(), FUNCTION))
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
