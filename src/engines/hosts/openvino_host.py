# OpenVINO. It compiles for a device of its own machine, and a CPU is one; the device is named as OpenVINO names it.
import re

DEVICE = sys.argv[3]

try:
    import numpy
    import openvino
except BaseException as error:
    fail("script", "no package of it in {}".format(sys.executable),
         "tried openvino: " + (first_line(error) or type(error).__name__))

TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "i8": "int8", "u8": "uint8",
         "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64",
         "boolean": "bool", "f8e4m3": "float8e4m3fn", "f8e5m2": "float8e5m2"}
core = openvino.Core()


def short(type):
    """"f32" for <Type: 'float32'>."""
    return type.get_type_name()


def version():
    return openvino.__version__.split("-")[0]


def property_of(device, name, otherwise=""):
    try:
        return core.get_property(device, name)
    except Exception:
        return otherwise


def about():
    devices = [{"name": clean("{}: {}".format(device, property_of(device, "FULL_DEVICE_NAME"))), "memory": 0,
                "capability": clean(device)} for device in core.available_devices]
    return {"name": "OpenVINO", "version": version(), "package": "openvino", "python": sys.executable,
            "devices": devices, "capabilities": [], "no_device": "" if devices else "OpenVINO names no device",
            "compiles": bool(devices), "runs": bool(devices)}


def device_of(capability):
    device = capability or DEVICE
    known = core.available_devices
    if device.split(":")[0].split(".")[0] not in [name.split(".")[0] for name in known] + ["AUTO", "HETERO", "MULTI"]:
        raise Refused("it has no device '{}'".format(device), "it has " + ", ".join(known))
    return device


# How its reader tells of what it cannot convert, of each first failure of an operator
#
#   -- Conv-15 with a message:
#   While validating ONNX node '<Node(Conv): name of the output>': Check '...' failed at src/...:
#   FrontEnd API failed with GeneralFailure:
#   why
#
# and in the end, of all operators that it does not know, "-- No conversion rule found for operations: A-15, my.B".
# Lines in between say where in its sources an exception came from.
NOISE = ("Exception from", "Check '", "While validating", "FrontEnd API failed", "Summary:", "-- Conversion is failed",
         "Model wasn't fully converted")
FAILED, UNKNOWN = " with a message:", "-- No conversion rule found for operations: "


def reason_in(lines):
    said = [line for line in lines if line and not line.startswith(NOISE)]
    return clean((said or [line for line in lines if line] or ["it says no reason"])[-1])


def refusals(error):
    """One for each node that it names, by the name of an output, or for each operator."""
    lines = [line.strip() for line in str(error).splitlines()]
    starts = [index for index, line in enumerate(lines) if line.startswith("-- ") and line.endswith(FAILED)]
    ends = starts[1:] + [lines.index("Summary:") if "Summary:" in lines else len(lines)]
    found = []
    for start, end in zip(starts, ends):
        part = lines[start + 1:end]
        operator, node = lines[start][3:-len(FAILED)].rpartition("-")[0], ""
        named = re.search(r"<Node\(([^)]*)\): (.*?)>'", "\n".join(part))
        if named:
            operator, node = named.groups()
        found.append({"index": -1, "node": clean(node), "operator": clean(operator), "text": reason_in(part)})
    for line in lines:
        for name in line[len(UNKNOWN):].split(", ") if line.startswith(UNKNOWN) else ():
            operator = re.sub(r"-\d+$", "", name).split(".")[-1]
            found.append({"index": -1, "node": "", "operator": clean(operator),
                          "text": "it has no conversion rule for the operator " + clean(name)})
    return found or [{"index": -1, "node": "", "operator": "", "text": reason_in(lines)}]


def supports(model):
    """By its reader, and of what that made by the device's plugin, which names operators of its own: what they are
    called begins with the name of the node's output."""
    try:
        network = core.read_model(model)
    except Exception as error:
        return {"supported": False, "parts": [], "errors": refusals(error)}
    device = device_of("")
    taken = core.query_model(network, device)
    errors = [{"index": -1, "node": clean(node.get_friendly_name()), "operator": clean(node.get_type_name()),
               "text": "the plugin of {} does not take {}".format(device, clean(node.get_type_name()))}
              for node in network.get_ordered_ops() if node.get_friendly_name() not in taken]
    return {"supported": not errors, "parts": [], "errors": errors}


def load(model, shapes, capability, settings):
    """A compiled model, the names of each of its outputs, and how to compile it once more with other settings; or None
    with who refused it and why."""
    config = {"ENABLE_MMAP": False}
    precision = one_of(settings, "inference-precision")
    if precision:
        config["INFERENCE_PRECISION_HINT"] = precision
    threads = one_of(settings, "threads")
    if threads:
        config["INFERENCE_NUM_THREADS"] = int(threads)
    if settings:
        raise Refused("--{}: it is not told that".format(next(iter(settings))), "leave it out")
    stage = "reader"
    try:
        network = core.read_model(model)
        stage = "compiler"
        # A node that changes nothing goes, and two outputs then have one name: theirs are in the file's order.
        named = [port.get_names() for port in network.outputs]
        compiled = core.compile_model(network, device_of(capability), config)
        names = [before | port.get_names() for before, port in zip(named, compiled.outputs)]
        return (compiled, names, lambda **more: core.compile_model(network, device_of(capability), {**config, **more})), {}
    except Refused:
        raise
    except Exception as error:
        return None, {"errors": refusals(error), "stage": stage}


def tensors(ports, types, layouts):
    return [{"Name": clean(port.get_any_name() if port.get_names() else ""), "Datatype": TYPES.get(type, type),
             "Format": layout} for port, type, layout in zip(ports, types, layouts)]


def words_of(info, name):
    if name not in info:
        return ""
    value = info[name]
    return clean(value.astype(str) if hasattr(value, "astype") else value)


def listed(text, count):
    """A list in words has one place for each output, or one for all."""
    words = text.split(",") if text else [""]
    return words + words[-1:] * (count - len(words))


def information_of(compiled):
    """Its kernels in the form of TensorRT's engine inspector. Constants are none."""
    layers, made = [], {}
    for node in compiled.get_runtime_model().get_ordered_ops():
        info = node.get_rt_info()
        kind, name = words_of(info, "layerType"), clean(node.get_friendly_name())
        outputs = [{"Name": name, "Datatype": TYPES.get(type, type), "Format": layout} for type, layout in
                   zip(listed(words_of(info, "outputPrecisions"), len(node.outputs())),
                       listed(words_of(info, "outputLayouts"), len(node.outputs())))]
        for index in range(len(node.outputs())):
            made[node.get_friendly_name(), index] = outputs[min(index, len(outputs) - 1)], kind == "Const"
        if kind in ("Const", "Input", "Output", "Parameter", "Result"):
            continue
        inputs, constants = [], []
        for port in node.inputs():
            source = port.get_source_output()
            tensor, constant = made.get((source.get_node().get_friendly_name(), source.get_index()), (None, False))
            if tensor:
                (constants if constant else inputs).append(tensor)
        nodes = [text for text in words_of(info, "originalLayersNames").split(",") if text]
        layers.append({"Name": name, "LayerType": kind, "Inputs": inputs, "Constants": constants, "Outputs": outputs,
                       "TacticName": words_of(info, "primitiveType"),
                       "Metadata": "\x1e".join("[ONNX Layer: {}]".format(text) for text in nodes)})
    return json.dumps({"Layers": layers})


def refuse_files(path):
    if path:
        raise Refused("its engines are not kept in files here")


def compile_model(model, shapes, capability, settings, save):
    begin = time.time()
    refuse_files(save)
    made, refused = load(model, shapes, capability, settings)
    if made is None:
        return refused
    return {"information": information_of(made[0]), "bytes": 0, "seconds": time.time() - begin, "errors": []}


held = request = again = None
output_names = []


def ports(list_of_ports):
    return [{"name": clean(port.get_any_name()), "type": TYPES.get(short(port.get_element_type()), "undefined"),
             "shape": [-1 if size.is_dynamic else size.get_length() for size in port.get_partial_shape()]}
            for port in list_of_ports if port.get_names()]


def open_engine(model, shapes, settings, engine, save):
    global held, request, again, output_names
    held = request = None
    begin = time.time()
    refuse_files(engine or save)
    made, refused = load(model, shapes, "", settings)
    if made is None:
        return refused
    held, output_names, again = made
    request = held.create_infer_request()
    return {"information": information_of(held), "bytes": 0, "seconds": time.time() - begin, "errors": [],
            "inputs": ports(held.inputs), "outputs": ports(held.outputs)}


def give(arrays, inputs):
    for array in read_arrays(arrays, inputs):
        request.set_tensor(array["name"], tensor_of(array))


def infer():
    begin = time.perf_counter()
    request.infer()
    return time.perf_counter() - begin


def time_runs(arrays, inputs, graph, copies, **how):
    if graph:
        raise Refused("it has no CUDA graphs", "leave out ‹use-cuda-graph›")
    if arrays:
        give(arrays, inputs)
    return {"seconds": repeated(infer, **how), "device_clock": False}


def profile(runs):
    """By a second build: counting the time of each kernel costs time."""
    counted = again(PERF_COUNT=True).create_infer_request()
    for port in held.inputs:
        counted.set_tensor(port.get_any_name(), request.get_tensor(port))
    counted.infer()
    times = {}
    for _ in range(runs):
        counted.infer()
        for one in counted.profiling_info:
            if one.status == openvino.ProfilingInfo.Status.EXECUTED:
                times.setdefault(one.node_name, []).append(one.real_time.total_seconds())
    return {"kernels": [{"name": clean(name), "seconds": median(of)} for name, of in times.items()]}


def tensor_of(array):
    port = held.input(array["name"])
    type = port.get_element_type()
    if TYPES.get(short(type)) != array["type"]:
        raise Refused("input '{}' is {} in the engine, and {} was given".format(array["name"], short(type), array["type"]))
    tensor = openvino.Tensor(type, openvino.Shape(array["shape"]))
    if array["data"]:
        tensor.data.reshape(-1).view(numpy.uint8)[:] = numpy.frombuffer(array["data"], numpy.uint8)
    return tensor


def run(arrays, inputs, out):
    give(arrays, inputs)
    seconds = infer()
    found = []
    for port in held.outputs:
        tensor = request.get_tensor(port)
        found.append((port.get_any_name(), TYPES.get(short(tensor.element_type), "undefined"), tuple(tensor.shape),
                      numpy.ascontiguousarray(tensor.data).tobytes()))
    places = write_arrays(out, found)
    # What two nodes give as one tensor has the names of both.
    return {"outputs": [dict(place, name=clean(name)) for place, names in zip(places, output_names) for name in names],
            "seconds": seconds}


def no_words():
    return []


serve({"about": about, "supports": supports, "compile": compile_model, "open": open_engine, "run": run, "time": time_runs,
       "profile": profile}, no_words)
