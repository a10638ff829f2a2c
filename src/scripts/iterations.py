# Calls a function of the user's on what runners gave: SCRIPT FUNCTION KIND, which is "compare" or "postprocess". It asks
# for work as long as there is any,
#
#   {"next": 1}          answered by {"runs": [[name, path.npz], ...], "out": path.npz}, or {} when all is done
#
# and says what came of it:
#
#   {"verdicts": [[output, passed, text], ...]}      compare: a text only where it says more than yes or no
#   {"written": 1}                                   postprocess: the arrays are in "out"
KIND = sys.argv[3]
WANTED = {"compare": "it must return a dict {output name: verdict}, one that bool() takes",
          "postprocess": "it must return a dict {output name: numpy array}"}


def items_of(value):
    if not isinstance(value, Mapping) and not (hasattr(value, "keys") and hasattr(value, "__getitem__")):
        fail("sample", "returned {}".format(kind(value)), WANTED[KIND])
    return [(clean(name), value[name]) for name in value.keys()]


def verdict_of(name, value):
    try:
        passed = bool(value)
    except Exception as error:
        fail("sample", "output '{}': its verdict, {}, is neither true nor false: {}".format(
            name, kind(value), first_line(error)), WANTED[KIND])
    plain = value is None or type(value).__name__ in ("bool", "bool_")
    return [name, passed, "" if plain else clean(value).replace("\n", " ")[:300]]


def write_arrays(numpy, items, path):
    import zipfile
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, value in items:
            array = numpy.asarray(value)
            if array.dtype.hasobject:
                fail("sample", "output '{}' is {}, not a numpy array".format(name, kind(value)), WANTED[KIND])
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                numpy.lib.format.write_array(member, array, allow_pickle=False)


def main():
    try:
        import numpy
    except ImportError:
        fail("script", "needs numpy, which {} does not have".format(sys.executable),
             "‹python› PROGRAM names the Python that has it")
    count = 2 if KIND == "compare" else 1
    function = find_function(load_module(), FUNCTION, *[None] * count)
    while True:
        work = ask(next=1)
        if not work:
            break
        iterations = []
        for name, path in work["runs"]:
            with numpy.load(path, allow_pickle=False) as arrays:
                iterations.append(IterationResult({each: arrays[each] for each in arrays.files}, None, name))
        try:
            items = items_of(function(*iterations))
        except BaseException as error:
            raised("sample", error)
        if KIND == "compare":
            tell(verdicts=[verdict_of(name, value) for name, value in items])
        else:
            write_arrays(numpy, items, work["out"])
            tell(written=1)
    tell(end=1)
    leave(0)


main()
