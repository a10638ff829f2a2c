# The engine that trtexec has built: it runs samples, and trtexec itself is started for each.
CODES = {"float32": "f", "float16": "e", "int8": "b", "uint8": "B", "int32": "i", "int64": "q", "bool": "?"}


def packed(type, values):
    """Little-endian, as tensors are."""
    if type == "bfloat16":  # the upper halves of float32, rounded: what was printed has six digits
        floats = struct.unpack("<{}I".format(len(values)), struct.pack("<{}f".format(len(values)), *values))
        return struct.pack("<{}H".format(len(values)), *[min(bits + 0x8000, 0xffffffff) >> 16 for bits in floats])
    if type not in CODES:
        raise Refused("trtexec prints no values of the type " + type)
    whole = CODES[type] in "bBiq?"
    return struct.pack("<{}{}".format(len(values), CODES[type]), *[int(value) if whole else value for value in values])


# Numbers as C++ prints them: JSON has other words for these.
NOT_FINITE = (("nan", "NaN"), ("inf", "Infinity"))


def printed_outputs():
    """[{"name": "y", "dimensions": "1x4", "values": [...]}]"""
    try:
        with open(place("outputs.json"), "rb") as file:
            text = file.read().decode("utf-8", "replace")
        for word, json_word in NOT_FINITE:
            text = re.sub(r"([\[,]\s*)(-?)" + word + r"(?=\s*[,\]])",
                          lambda found: found.group(1) + ("" if word == "nan" else found.group(2)) + json_word, text)
        read = json.loads(text)
        return [(one["name"], [int(size) for size in re.findall(r"\d+", one["dimensions"])], one["values"]) for one in read]
    except (OSError, ValueError, KeyError, TypeError):
        raise Refused("trtexec wrote no outputs that can be read")


def given(arrays, inputs):
    """What tells of the inputs, which it reads from files."""
    wanted = held[1]
    files, shapes = [], []
    for index, array in enumerate(read_arrays(arrays, inputs)):
        name = array["name"]
        if wanted[name]["type"] != array["type"]:
            raise Refused("input '{}' is {} in the engine, and {} was given".format(name, wanted[name]["type"], array["type"]))
        with open(place("input{}".format(index)), "wb") as file:
            file.write(array["data"])
        files.append("{}:input{}".format(quoted(name), index))
        if -1 in wanted[name]["shape"]:
            shapes.append((name, array["shape"]))
    arguments = [*plugin_options(), *(["--shapes=" + shapes_of(shapes)] if shapes else [])]
    if files:
        arguments.append("--loadInputs=" + ",".join(files))
    return arguments


timed = []  # what tells of the inputs of the last timing


def times_of(key):
    try:
        with open(place("times.json")) as file:
            return [float(one[key]) / 1000 for one in json.load(file)]
    except (OSError, ValueError, KeyError, TypeError):
        raise Refused("trtexec wrote no times that can be read")


def started(files, seconds, least, skip, *more):
    remove(*files)
    said = call("--loadEngine=" + held[0], "--iterations={}".format(least), "--warmUp={}".format(200 if skip else 0),
                "--duration={}".format(max(1, round(seconds)) if seconds else 0), *(list(more) + timed))
    if not said.passed():
        raise Refused("the engine did not run: " + (said.words() or "exit code {}".format(said.code)))


def time_runs(arrays, inputs, seconds, least, most, skip, graph, copies):
    global timed
    if arrays:
        timed = given(arrays, inputs)
    how = [option for option, wanted in (("useCudaGraph", graph), ("includeDataTransfers", copies),
                                         ("noDataTransfers", not copies)) if wanted and "--" + option in OPTIONS]
    if graph and "--useCudaGraph" not in OPTIONS and "--noCudaGraph" not in OPTIONS:
        raise Refused("this trtexec makes no CUDA graphs", "leave out ‹use-cuda-graph›")
    if not graph and "--noCudaGraph" in OPTIONS:
        how.append("noCudaGraph")
    started(["times.json"], seconds, least, skip, "--exportTimes=times.json", *["--" + option for option in how])
    return {"seconds": times_of("latencyMs" if copies else "computeMs")[:most], "device_clock": not copies}


def profile(runs):
    started(["profile.json"], 0, runs, 0, "--exportProfile=profile.json", "--separateProfileRun")
    try:
        with open(place("profile.json"), "rb") as file:
            # Names are not escaped: a line is { "name" : "...", "timeMs" : 1, "averageMs" : 2, "medianMs" : 3, ...
            text = file.read().decode("utf-8", "replace")
        found = re.findall(r'"name" : "(.*)", "timeMs" : [^,]*, "averageMs" : ([^,]*)(?:, "medianMs" : ([^,]*))?,', text)
        return {"kernels": [{"name": clean(name), "seconds": float(middle or mean) / 1000} for name, mean, middle in found]}
    except (OSError, ValueError):
        raise Refused("trtexec wrote no profile that can be read")


def run(arrays, inputs, out):
    engine, _, outputs = held
    remove("outputs.json", "times.json")
    arguments = given(arrays, inputs)
    said = call("--loadEngine=" + engine, "--exportOutput=outputs.json", "--exportTimes=times.json", "--iterations=1",
                "--warmUp=0", "--duration=0", *arguments)
    if not said.passed():
        raise Refused("the engine did not run: " + (said.words() or "exit code {}".format(said.code)))
    found = []
    for name, shape, values in printed_outputs():
        count = 1
        for size in shape:
            count *= size
        if name not in outputs or count != len(values):
            raise Refused("trtexec gives {} values of '{}', of the shape {}".format(len(values), clean(name), shape))
        try:
            found.append((name, outputs[name]["type"], shape, packed(outputs[name]["type"], values)))
        except (struct.error, ValueError, OverflowError, TypeError):
            raise Refused("trtexec gives values of '{}' that are no {}".format(clean(name), outputs[name]["type"]))
    times = times_of("computeMs")
    if not times:
        raise Refused("trtexec wrote no times that can be read")
    return {"outputs": write_arrays(out, found), "seconds": times[-1]}


serve({"about": about, "plugins": load_plugins, "compile": compile_model, "describe": describe, "open": open_engine, "run": run, "time": time_runs,
       "profile": profile},
      lambda: last.of("W"))
