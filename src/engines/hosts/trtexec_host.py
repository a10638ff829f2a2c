# TensorRT by its program trtexec alone, for machines that have no Python package of it. Arguments: a folder for its
# files; behind --plugins, libraries of plugins. Each piece of work starts it anew; its formats are those of
# NVIDIA/TensorRT, samples/common: sampleOptions.cpp (options), sampleReporting.cpp (exportOutput, exportTimes),
# sampleUtils.cpp (loadInputs: the bytes of the tensor).
import re, shutil, signal, struct, subprocess

(FOLDER,), PLUGINS = split_plugins(sys.argv[3:])
USUAL_PLACE = "/usr/src/tensorrt/bin/trtexec"  # of NVIDIA's Debian packages, JetPack's among them, which set no PATH
PROGRAM = shutil.which("trtexec") or shutil.which(USUAL_PLACE)
if not PROGRAM:
    fail("script", "no such program", "tried trtexec on the PATH, {}".format(USUAL_PLACE))

MOST_LOG = 1 << 20  # bytes that are read of what it prints
# What it adds to an error behind the one that says why.
CONSEQUENCES = ("Failed to parse onnx file", "Parsing model failed", "Failed to create engine", "Engine set up failed",
                "Engine could not be created", "Engine deserialization failed", "Inference set up failed", "Error occurred during inference")


def place(name):
    return os.path.join(FOLDER, name)


class Said:
    """What one run printed. Lines are "[date-time] [E] [TRT] text"; I, W, E and V are how bad it is."""

    def __init__(self, code, text):
        self.code, self.text = code, text
        self.lines = text.splitlines()

    def of(self, letter):
        found = re.findall(r"^(?:\[[^\]\n]*\] )?\[" + letter + r"\] (?:\[TRT\] )?(.*)$", self.text, re.M)
        return [line.strip() for line in found if line.strip() and not line.startswith(CONSEQUENCES)]

    def words(self):
        """Its first error, which the others follow from; else its last line."""
        lines = [line for line in self.lines if line.strip() and not line.startswith("&&&&")]
        return (self.of("E") or [line.strip() for line in lines[-1:]] or [""])[0]

    def passed(self):
        return self.code == 0 and "&&&& PASSED" in self.text


last = Said(0, "")


def call(*arguments):
    """Runs it to its end. Refuses where it crashed; that it failed is the caller's."""
    global last
    last = Said(0, "")
    log = place("trtexec.log")
    with open(log, "wb") as file:
        code = subprocess.call([PROGRAM] + list(arguments), cwd=FOLDER, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    with open(log, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - MOST_LOG))
        last = Said(code, file.read().decode("utf-8", "replace"))
    if code < 0:
        words = last.words()
        raise Refused("{} was killed by signal {}".format(PROGRAM, -code) + (": " + words if words else ""),
                      "the system kills what takes too much memory" if -code == signal.SIGKILL else "")
    return last


def version_in(text):
    """"10.3.0" for the "[TensorRT v100300]" of its first line; before 10, "[TensorRT v8502]" is 8.5.2."""
    found = re.search(r"TensorRT\.trtexec \[TensorRT v(\d+)\]", text)
    if not found:
        return ""
    number = int(found.group(1))
    major = number // (10000 if number >= 10000 else 1000)
    return "{}.{}.{}".format(major, number // 100 % (100 if number >= 10000 else 10), number % 100)


def learn():
    said = call("--help")
    options = set(re.findall(r"--\w+", said.text))
    if said.code or not version_in(said.text) or not {"--onnx", "--loadEngine", "--exportOutput"} <= options:
        words = said.words()
        raise Refused("{} does not answer --help as trtexec does".format(PROGRAM) + (": " + words if words else ""))
    if "--stronglyTyped" not in options and "--fp16" in options:
        raise Refused("{} of TensorRT {} builds no strongly typed networks".format(PROGRAM, version_in(said.text)),
                      "TensorRT 10 and newer do")
    return version_in(said.text), options


try:
    VERSION, OPTIONS = learn()
except (Refused, OSError) as error:
    fail("script", str(error), getattr(error, "hint", ""))


def about():
    devices, why = nvidia_devices()
    return {"name": "TensorRT", "version": VERSION, "package": PROGRAM, "python": sys.executable, "devices": devices,
            "capabilities": [], "no_device": why, "compiles": bool(devices), "runs": bool(devices), "parses": False}


# Inputs and outputs of an ONNX file, read from its bytes: no package is needed for that. Fields by their numbers in
# onnx.proto: ModelProto.graph 7; GraphProto.input 11, output 12, initializer 5; ValueInfoProto.name 1, type 2;
# TypeProto.tensor_type 1; Tensor.elem_type 1, shape 2; TensorShapeProto.dim 1; Dimension.dim_value 1; TensorProto.name 8.
TYPES = {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 16: "bfloat16"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, at, shift = value | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
            value, at = data[at:at + size], at + size
        yield number, value


def all_of(data, number):
    return [value for found, value in fields(data) if found == number]


def port_of(info):
    tensor = all_of(all_of(info, 2)[0], 1)[0]
    sizes = [(all_of(size, 1) or [-1])[0] for shape in all_of(tensor, 2) for size in all_of(shape, 1)]
    return {"name": bytes(all_of(info, 1)[0]).decode("utf-8"), "type": TYPES.get((all_of(tensor, 1) or [0])[0], "undefined"),
            "shape": sizes}


def ports_of_model(path):
    with open(path, "rb") as file:
        graph = all_of(memoryview(file.read()), 7)[0]
    constants = {bytes(name).decode("utf-8") for one in all_of(graph, 5) for name in all_of(one, 8)}
    inputs = [port for port in map(port_of, all_of(graph, 11)) if port["name"] not in constants]
    return inputs, list(map(port_of, all_of(graph, 12)))


# The types of a built engine's tensors, in its layers' "Format/Datatype": "Row major linear FP16 format", or "Datatype".
WORDS = (("BF16", "bfloat16"), ("BFloat16", "bfloat16"), ("FP16", "float16"), ("Half", "float16"), ("FP32", "float32"),
         ("Float", "float32"), ("UInt8", "uint8"), ("Int8", "int8"), ("Int64", "int64"), ("Int32", "int32"), ("Bool", "bool"))


def ports_of_layers(information):
    """By "Bindings", the names of inputs and outputs; what no layer gives is an input."""
    read, given = {}, {}
    for layer in information.get("Layers", []):
        for key, found in (("Inputs", read), ("Outputs", given)):
            for tensor in layer.get(key, []) if isinstance(layer, dict) else []:
                found[tensor.get("Name")] = tensor
    sides = [], []
    for name in information.get("Bindings", []):
        tensor = given.get(name) or read.get(name) or {}
        words = str(tensor.get("Datatype") or tensor.get("Format/Datatype") or "").lower()
        type = next((type for word, type in WORDS if word.lower() in words), None)
        if type is None:
            raise Refused("trtexec does not say of which type '{}' is".format(clean(name)),
                          "engines say it that were built with --profilingVerbosity=detailed")
        sides[name in given].append({"name": clean(name), "type": type, "shape": [int(size) for size in tensor["Dimensions"]]})
    return sides


def quoted(name):
    """A name in a list such as --shapes=name:1x3,'other:0':4."""
    if "," in name or "'" in name:
        raise Refused("trtexec takes no commas and quotes in the name of an input: {}".format(clean(name)))
    return "'" + name + "'" if ":" in name else name


def shapes_of(shapes):
    return ",".join("{}:{}".format(quoted(name), "x".join(map(str, shape)) or "scalar") for name, shape in shapes)


# What the builder can be told: names of our options, and of trtexec's.
FLAGS = {"allow-gpu-fallback": "allowGPUFallback", "direct-io": "directIO", "directIO": "directIO", "noTF32": "noTF32",
         "disable-compilation-cache": "noCompilationCache", "error-on-timing-cache-miss": "errorOnTimingCacheMiss",
         "exclude-lean-runtime": "excludeLeanRuntime", "refittable": "refit", "strip-plan": "stripWeights",
         "version-compatible": "versionCompatible", "weight-streaming": "allowWeightStreaming"}
VALUES = {"builder-optimization-level": "builderOptimizationLevel", "builderOptimizationLevel": "builderOptimizationLevel",
          "max-aux-streams": "maxAuxStreams", "maxTactics": "maxNbTactics", "runtime-platform": "runtimePlatform",
          "hardware-compatibility-level": "hardwareCompatibilityLevel", "tiling-optimization-level": "tilingOptimizationLevel"}


def pool_of(text):
    """Without a unit trtexec means MiB, and we bytes."""
    pool, colon, size = text.rpartition(":")
    return "{}:{}".format(pool or "workspace", size + "B" if size.isdigit() else size)


TYPE_WORDS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int8": "int8", "float8e4m3fn": "fp8", "int4": "int4"}


def type_word(format):
    if format not in TYPE_WORDS:
        raise Refused("‹weakly-typed›: trtexec has no flag for {}".format(format), "it knows " + ", ".join(TYPE_WORDS))
    return TYPE_WORDS[format]


def weak_types(settings):
    """Arguments of a weakly typed build, or None where the network is strongly typed."""
    if settings.pop("weakly-typed", None) is None:
        return None
    if settings.pop("network-scripts", None):
        raise Refused("‹weakly-typed›: trtexec runs no network scripts", "‹layer-precisions› NAME:FORMAT for single layers")
    arguments = ["--" + word for word in map(type_word, settings.pop("formats", [])) if word != "fp32"]
    layers = [text.rpartition(":") for text in settings.pop("layer-formats", [])]
    if any(set(name) & set("?[,") or "*" in name and name != "*" for name, colon, format in layers):
        raise Refused("‹layer-precisions›: trtexec takes whole names of layers, or * for all")
    if layers:
        arguments.append("--layerPrecisions=" + ",".join(quoted(name) + ":" + type_word(format) for name, colon, format in layers))
    constraints = one_of(settings, "constraints")
    if constraints in ("obey", "prefer"):
        arguments.append("--precisionConstraints=" + constraints)
    cache = one_of(settings, "calibration-cache")
    if cache:
        arguments.append("--calib=" + os.path.abspath(cache))
    for argument in arguments:
        if argument.split("=")[0] not in OPTIONS:
            raise Refused("‹weakly-typed›: {} of TensorRT {} has no {}".format(PROGRAM, VERSION, argument.split("=")[0]),
                          "leave it out: a typed file says the type of each layer")
    return arguments


def told(settings):
    for option, values in settings.items():
        if option in FLAGS:
            known, argument = FLAGS[option], "--" + FLAGS[option]
        elif option in VALUES:
            known, argument = VALUES[option], "--{}={}".format(VALUES[option], values[-1])
        elif option in ("pool-limit", "memory-pool-limit"):
            known, argument = "memPoolSize", "--memPoolSize=" + ",".join(map(pool_of, values))
        elif option == "sparse-weights":
            known, argument = "sparsity", "--sparsity=enable"
        elif option == "tf32":
            continue  # it is allowed where --noTF32 does not forbid it
        else:
            raise Refused("--{}: trtexec is not told that".format(option), "leave it out")
        if "--" + known not in OPTIONS:
            raise Refused("--{}: {} of TensorRT {} has no --{}".format(option, PROGRAM, VERSION, known), "leave it out")
        yield argument


# "In node 3 with name: first and operator: MatMul (importMatMul): UNSUPPORTED_NODE: why", TensorRT 10's parser.
AT_NODE = re.compile(r"In node (-?\d+) with name: (.*?) and operator: (\w*) ?\(\w+\): (?:[A-Z_]+: )?(.*)")


def refusals(said):
    found = []
    for text in said.of("E"):
        at = AT_NODE.search(text)
        index, node, operator, why = at.groups() if at else (-1, "", "", text)
        found.append({"index": int(index), "node": clean(node), "operator": clean(operator), "text": clean(why)})
    found.sort(key=lambda one: (not one["node"], "rror" not in one["text"]))  # what says the most first
    if not found:
        words = said.words()
        found = [{"index": -1, "node": "", "operator": "", "text": clean(words) or "exit code {}".format(said.code)}]
    return found


ONLY_BUILD = "--skipInference" if "--skipInference" in OPTIONS else "--buildOnly"
ENGINE, LAYERS = "engine", "layers.json"


def information():
    try:
        with open(place(LAYERS), "rb") as file:
            text = file.read().decode("utf-8", "replace")
        read = json.loads(text)
        if not isinstance(read, dict):
            raise ValueError
        return text, read
    except (OSError, ValueError):
        raise Refused("trtexec wrote no layer information that can be read")


def plugin_options():
    """Libraries that TensorRT loads by itself have one of these functions; others announce their plugins while the system
    loads them."""
    for path in PLUGINS:
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise Refused("‹plugins› {}: cannot be read: {}".format(path, error.strerror))
        creators = b"getCreators" in data or b"getPluginCreators" in data
        names = [name for name in (["--dynamicPlugins"] if creators else []) + ["--staticPlugins", "--plugins"] if name in OPTIONS]
        if not names:
            raise Refused("‹plugins›: trtexec of TensorRT {} is not told that".format(VERSION), "leave it out")
        yield "{}={}".format(names[0], path)


def load_plugins():
    """It loads them itself, each time."""
    list(plugin_options())
    return {}


def remove(*names):
    for name in names:
        if os.path.exists(place(name)):
            os.remove(place(name))


def build(model, shapes, settings):
    """The ports of the engine that it built, or None with who refused it and why."""
    devices, why = nvidia_devices()
    if not devices:
        raise Refused("trtexec compiles for the GPU of its machine alone, and " + why)
    remove(ENGINE, LAYERS, "cache")
    cache_from, cache_to = one_of(settings, "load-timing-cache"), one_of(settings, "save-timing-cache")
    weak = weak_types(settings)
    arguments = [*plugin_options(), *told(settings), *(weak or [])]
    if cache_from:
        shutil.copyfile(cache_from, place("cache"))
    if cache_from or cache_to:
        arguments.append("--timingCacheFile=cache")  # read where it is there, and written
    inputs, outputs = ports_of_model(model)
    # It refuses shapes of inputs whose shape is known.
    dynamic = [port["name"] for port in inputs if -1 in port["shape"]]
    missing = [name for name in dynamic if name not in shapes]
    if missing:
        raise Refused("input '{}' has open dimensions, and no shape was given".format(clean(missing[0])))
    for index, option in enumerate(("min", "opt", "max") if dynamic else ()):
        arguments.append("--{}Shapes={}".format(option, shapes_of((name, shapes[name][index]) for name in dynamic)))
    if weak is None and "--stronglyTyped" in OPTIONS:  # else there are no other networks
        arguments.append("--stronglyTyped")
    said = call("--onnx=" + model, "--saveEngine=" + ENGINE, "--exportLayerInfo=" + LAYERS, "--profilingVerbosity=detailed",
                ONLY_BUILD, *arguments)
    if said.code:
        parser = "Failed to parse onnx file" in said.text or "Parsing model failed" in said.text
        return None, {"errors": refusals(said), "stage": "parser" if parser else "builder"}
    if not said.passed() or not os.path.exists(place(ENGINE)):
        raise Refused("trtexec ended without an engine and without an error", said.words())
    if cache_to:
        shutil.copyfile(place("cache"), cache_to)
    return (inputs, outputs), {}


def compile_model(model, shapes, capability, settings, save):
    if capability and capability not in [device["capability"] for device in nvidia_devices()[0]]:
        raise Refused("trtexec compiles for the GPU of its machine alone")
    begin = time.time()
    ports, found = build(model, shapes, settings)
    if ports is None:
        return found
    seconds = time.time() - begin
    if save:
        shutil.copyfile(place(ENGINE), save)
    # Open dimensions of outputs are not compared with what the file says.
    return {"information": information()[0], "bytes": os.path.getsize(place(ENGINE)), "seconds": seconds, "errors": []}


def loaded(engine):
    devices, why = nvidia_devices()
    if not devices:
        raise Refused("an engine file is loaded by a GPU, and " + why, "compile the ONNX file instead")
    remove(LAYERS)
    said = call("--loadEngine=" + os.path.abspath(engine), "--exportLayerInfo=" + LAYERS, ONLY_BUILD, *plugin_options())
    if not said.passed():
        raise Refused("the engine cannot be loaded: " + (said.words() or "exit code {}".format(said.code)))
    return information()


def describe(engine):
    return {"information": loaded(engine)[0], "bytes": os.path.getsize(engine)}


held = None  # (path of the engine, inputs, outputs)


def open_engine(model, shapes, settings, engine, save):
    global held
    held = None
    begin = time.time()
    if engine:
        inputs, outputs = ports_of_layers(loaded(engine)[1])
        engine = os.path.abspath(engine)
    else:
        ports, found = build(model, shapes, settings)
        if ports is None:
            return found
        inputs, outputs = ports
        engine = place(ENGINE)
    seconds = time.time() - begin
    if save:
        shutil.copyfile(engine, save)
    held = engine, {port["name"]: port for port in inputs}, {port["name"]: port for port in outputs}
    return {"information": information()[0], "bytes": os.path.getsize(engine), "seconds": seconds, "errors": [],
            "inputs": inputs, "outputs": outputs}
