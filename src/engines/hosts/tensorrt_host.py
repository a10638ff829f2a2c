# TensorRT and TensorRT-RTX, which are one API: what a package has is asked, versions are never compared. Arguments: the
# modules to try, the first that can be imported is taken.
import glob, importlib, time

# Libraries that the modules load by name, in the order of their needs, in whatever folder of packages they lie.
LIBRARIES = ("nvidia/*/lib/libcudart.so*", "tensorrt_rtx_libs/libtensorrt_rtx.so.*",
             "tensorrt_rtx_libs/libtensorrt_onnxparser_rtx.so.*", "tensorrt_libs/libnvinfer.so.*",
             "tensorrt_libs/libnvinfer_plugin.so.*", "tensorrt_libs/libnvonnxparser.so.*")
MODULES = sys.argv[3:]


def load_libraries():
    import ctypes
    for pattern in LIBRARIES:
        for folder in sys.path:
            for path in sorted(glob.glob(os.path.join(glob.escape(folder), pattern))):
                try:
                    ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
                except OSError:
                    pass  # another release of the library, or one for another machine: the import says what is missing


def import_engine():
    tried = []
    load_libraries()
    for module in MODULES:
        try:
            found = importlib.import_module(module)
            if hasattr(found, "Builder") and hasattr(found, "OnnxParser"):
                return found
            tried.append("{}: has no Builder and no OnnxParser".format(module))
        except BaseException as error:
            tried.append("{}: {}".format(module, first_line(error) or type(error).__name__))
    fail("script", "no package of it in {}".format(sys.executable), "tried " + "; ".join(tried))


trt = import_engine()
Severity = trt.ILogger.Severity


class Log(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.lines = []

    def log(self, severity, text):
        self.lines.append((severity, text))


log = Log()


def said(worst=Severity.WARNING):
    return [text for severity, text in log.lines if severity <= worst]


def capabilities():
    """Compute capabilities that it compiles for without such a GPU: "8.9" by its own name."""
    names = [name for name in dir(getattr(trt, "ComputeCapability", None)) if name.startswith("SM")]
    found = {"{}.{}".format(name[2:-1], name[-1]): getattr(trt.ComputeCapability, name) for name in names
             if name[2:].isdigit()}
    return dict(sorted(found.items(), key=lambda item: float(item[0])))


def about():
    devices, why = nvidia_devices()
    name = "TensorRT-RTX" if "rtx" in trt.__name__ else "TensorRT"
    return {"name": name, "version": getattr(trt, "__version__", "?"), "package": trt.__name__,
            "python": sys.executable, "devices": devices, "capabilities": list(capabilities()),
            "no_device": why, "compiles": bool(capabilities() or devices), "runs": bool(devices)}


def new_network(builder):
    flags = trt.NetworkDefinitionCreationFlag
    strongly_typed = 1 << int(flags.STRONGLY_TYPED) if hasattr(flags, "STRONGLY_TYPED") else 0
    return builder.create_network(strongly_typed)


def errors_of(parser):
    found = []
    for index in range(parser.num_errors):
        error = parser.get_error(index)
        found.append({"index": error.node(), "node": clean(error.node_name()), "operator": clean(error.node_operator()),
                      "text": clean(error.desc())})
    return found


def supports(model):
    log.lines = []
    builder = trt.Builder(log)
    network = new_network(builder)  # a parser does not keep it alive
    parser = trt.OnnxParser(network, log)
    with open(model, "rb") as file:
        supported = parser.supports_model_v2(file.read(), model)
    parts = [{"supported": bool(parser.is_subgraph_supported(index)), "nodes": list(parser.get_subgraph_nodes(index))}
             for index in range(parser.num_subgraphs)]
    return {"supported": bool(supported), "parts": parts, "errors": errors_of(parser)}


def add_profile(builder, config, network, shapes):
    profile, dynamic = builder.create_optimization_profile(), False
    for index in range(network.num_inputs):
        tensor = network.get_input(index)
        if -1 not in tuple(tensor.shape):
            continue
        if tensor.name not in shapes:
            raise Refused("input '{}' has the open shape {}, and no shape was given".format(tensor.name, tuple(tensor.shape)))
        profile.set_shape(tensor.name, *shapes[tensor.name])
        dynamic = True
    if dynamic:
        config.add_optimization_profile(profile)


def information_of(serialized):
    engine = trt.Runtime(log).deserialize_cuda_engine(serialized)
    if engine is None:
        raise Refused("the engine cannot be loaded")
    return engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON)


def layers_of(serialized, devices):
    """What the compiler printed of its kernels; on a machine with a GPU what the engine says of itself."""
    for severity, text in log.lines:
        if severity > Severity.INFO and text.startswith("Layers:"):
            return {"printed": clean(text)}
    return {"information": information_of(serialized)} if devices else {}


def compile_model(model, shapes, capability):
    log.lines = []
    devices, why = nvidia_devices()
    known = capabilities()
    if not capability and not devices:
        raise Refused("it has nothing to compile for: " + why, "name a compute capability: it knows " + ", ".join(known))
    if capability and capability not in known:
        raise Refused("it cannot compile for compute capability {}".format(capability),
                      "it knows " + ", ".join(known) if known else "it compiles for the GPU of its machine alone")
    builder = trt.Builder(log)
    network = new_network(builder)
    parser = trt.OnnxParser(network, log)
    if not parser.parse_from_file(model):
        return {"errors": errors_of(parser), "stage": "parser"}
    config = builder.create_builder_config()
    if capability:
        config.num_compute_capabilities = 1
        config.set_compute_capability(known[capability], 0)
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    add_profile(builder, config, network, shapes)
    begin = time.time()
    serialized = builder.build_serialized_network(network, config)
    if serialized is None:
        return {"errors": [{"index": -1, "node": "", "operator": "", "text": clean(text)} for text in said(Severity.ERROR)],
                "stage": "builder"}
    return dict(layers_of(serialized, devices), bytes=int(serialized.nbytes), seconds=time.time() - begin, errors=[])


def describe(engine):
    """A built engine's own list of its kernels. The device must be one that it was built for."""
    log.lines = []
    with open(engine, "rb") as file:
        data = file.read()
    devices, why = nvidia_devices()
    if not devices:
        raise Refused("an engine file is loaded by a GPU, and " + why, "compile the ONNX file instead, which needs none")
    return {"information": information_of(data), "bytes": len(data)}


serve({"about": about, "supports": supports, "compile": compile_model, "describe": describe}, said)
