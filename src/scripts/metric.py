# Computes one number of all outputs of a run, as often as it is asked to. It asks for work as long as there is any,
#
#   {"next": 1}          answered by {"outputs": path.npz, "references": path.npz}, or {} when all is done; without
#                        references there is nothing to compare with, and the function gets None
#
# calls the function with two lists, one dict {output name: numpy array} a sample, and says the number that it returns:
#
#   {"value": 0.93}
def iterations_of(numpy, path):
    with numpy.load(path, allow_pickle=False) as arrays:
        found = {}
        for key in arrays.files:
            prefix, _, name = key.partition("/")
            numbered = prefix.startswith("iteration_") and prefix[10:].isdigit() and name
            found.setdefault(int(prefix[10:]) if numbered else 0, {})[name if numbered else key] = arrays[key]
    return [found[index] for index in sorted(found)]


def number_of(value):
    try:
        number = float(value)
    except Exception:
        fail("function", "returned {}".format(kind(value)), "it must return one number")
    if number != number:
        fail("function", "returned NaN", "it must return one number")
    return str(number) if number in (float("inf"), float("-inf")) else number  # JSON has no infinity


def main():
    try:
        import numpy
    except ImportError:
        fail("script", "needs numpy, which {} does not have".format(sys.executable),
             "‹python› PROGRAM names the Python that has it")
    function = find_function(load_module(), FUNCTION, [], [])
    while True:
        work = ask(next=1)
        if not work:
            break
        outputs = iterations_of(numpy, work["outputs"])
        references = iterations_of(numpy, work["references"]) if "references" in work else None
        try:
            value = function(outputs, references)
        except BaseException as error:
            raised("function", error)
        tell(value=number_of(value))
    tell(end=1)
    leave(0)


main()
