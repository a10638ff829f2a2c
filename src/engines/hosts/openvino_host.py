# OpenVINO. It compiles for a device of its own machine, and a CPU is one; the device is named as OpenVINO names it.
import time

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


def refusal(error):
    """OpenVINO says where in its sources an exception came from, line by line, before it says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line and not line.startswith(("Exception from", "Check '", "While validating"))]
    return {"index": -1, "node": "", "operator": "", "text": clean((said or lines or ["it says no reason"])[-1])}


def load(model, shapes, capability, settings):
    """A compiled model, or None with who refused it and why."""
    config = {"ENABLE_MMAP": False}
    precision = one_of(settings, "inference-precision")
    if precision:
        config["INFERENCE_PRECISION_HINT"] = precision
    if settings:
        raise Refused("--{}: it is not told that".format(next(iter(settings))), "leave it out")
    stage = "reader"
    try:
        network = core.read_model(model)
        stage = "compiler"
        return core.compile_model(network, device_of(capability), config), {}
    except Refused:
        raise
    except Exception as error:
        return None, {"errors": [refusal(error)], "stage": stage}


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
    compiled, refused = load(model, shapes, capability, settings)
    if compiled is None:
        return refused
    return {"information": information_of(compiled), "bytes": 0, "seconds": time.time() - begin, "errors": []}


held = request = None


def ports(list_of_ports):
    return [{"name": clean(port.get_any_name()), "type": TYPES.get(short(port.get_element_type()), "undefined"),
             "shape": [-1 if size.is_dynamic else size.get_length() for size in port.get_partial_shape()]}
            for port in list_of_ports if port.get_names()]


def open_engine(model, shapes, settings, engine, save):
    global held, request
    held = request = None
    begin = time.time()
    refuse_files(engine or save)
    compiled, refused = load(model, shapes, "", settings)
    if compiled is None:
        return refused
    held, request = compiled, compiled.create_infer_request()
    return {"information": information_of(held), "bytes": 0, "seconds": time.time() - begin, "errors": [],
            "inputs": ports(held.inputs), "outputs": ports(held.outputs)}


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
    for array in read_arrays(arrays, inputs):
        request.set_tensor(array["name"], tensor_of(array))
    begin = time.perf_counter()
    request.infer()
    seconds = time.perf_counter() - begin
    found = []
    for port in held.outputs:
        tensor = request.get_tensor(port)
        found.append((port.get_any_name(), TYPES.get(short(tensor.element_type), "undefined"), tuple(tensor.shape),
                      numpy.ascontiguousarray(tensor.data).tobytes()))
    places = write_arrays(out, found)
    # What two nodes give as one tensor has the names of both.
    return {"outputs": [dict(place, name=clean(name)) for place, port in zip(places, held.outputs)
                        for name in port.get_names()], "seconds": seconds}


def no_words():
    return []


serve({"about": about, "compile": compile_model, "open": open_engine, "run": run}, no_words)
