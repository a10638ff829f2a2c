# TensorRT and TensorRT-RTX, which are one API: what a package has is asked, versions are never compared. Arguments: the
# modules to try, the first that can be imported is taken; then, behind --plugins, libraries of plugins.
import ctypes, glob, importlib

# Libraries that the modules load by name, in the order of their needs, in whatever folder of packages they lie.
LIBRARIES = ("nvidia/*/lib/libcudart.so*", "tensorrt_rtx_libs/libtensorrt_rtx.so.*",
             "tensorrt_rtx_libs/libtensorrt_onnxparser_rtx.so.*", "tensorrt_libs/libnvinfer.so.*",
             "tensorrt_libs/libnvinfer_plugin.so.*", "tensorrt_libs/libnvonnxparser.so.*")
MODULES, PLUGINS = split_plugins(sys.argv[3:])


def load_libraries():
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


def new_network(builder, weakly_typed=False):
    flags = trt.NetworkDefinitionCreationFlag
    if weakly_typed:
        return builder.create_network(0)
    strongly_typed = 1 << int(flags.STRONGLY_TYPED) if hasattr(flags, "STRONGLY_TYPED") else 0
    return builder.create_network(strongly_typed)


def errors_of(parser):
    found = []
    for index in range(parser.num_errors):
        error = parser.get_error(index)
        found.append({"index": error.node(), "node": clean(error.node_name()), "operator": clean(error.node_operator()),
                      "text": clean(error.desc())})
    return found


# What a library has that TensorRT loads by itself; others announce their plugins while the system loads them.
CREATORS = ("getCreators", "getPluginCreators")
plugins_loaded = not PLUGINS


def load_plugins():
    global plugins_loaded
    if plugins_loaded:
        return {}
    if hasattr(trt, "init_libnvinfer_plugins"):
        trt.init_libnvinfer_plugins(log, "")
    registry = trt.get_plugin_registry() if hasattr(trt, "get_plugin_registry") else None
    for path in PLUGINS:
        try:
            library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise Refused("‹plugins› {}: cannot be loaded: {}".format(path, first_line(error)))
        if hasattr(registry, "load_library") and any(hasattr(library, name) for name in CREATORS):
            if registry.load_library(path) is None:
                raise Refused("‹plugins› {}: its plugins cannot be registered".format(path))
    plugins_loaded = True
    return {}


def supports(model):
    log.lines = []
    load_plugins()
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


def load(serialized):
    engine = trt.Runtime(log).deserialize_cuda_engine(serialized)
    if engine is None:
        raise Refused("the engine cannot be loaded")
    return engine


def information_of(engine):
    return engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON)


def layers_of(serialized, devices):
    """What the compiler printed of its kernels; on a machine with a GPU what the engine says of itself."""
    for severity, text in log.lines:
        if severity > Severity.INFO and text.startswith("Layers:"):
            return {"printed": clean(text)}
    return {"information": information_of(load(serialized))} if devices else {}


# Types of tensors: our names and their bytes.
TYPES = {"FLOAT": ("float32", 4), "HALF": ("float16", 2), "BF16": ("bfloat16", 2), "INT8": ("int8", 1),
         "UINT8": ("uint8", 1), "INT32": ("int32", 4), "INT64": ("int64", 8), "BOOL": ("bool", 1),
         "FP8": ("float8e4m3fn", 1)}

# What a builder can be told, by the names of the options that say it.
FLAGS = {"allow-gpu-fallback": "GPU_FALLBACK", "direct-io": "DIRECT_IO", "directIO": "DIRECT_IO",
         "disable-compilation-cache": "DISABLE_COMPILATION_CACHE", "error-on-timing-cache-miss": "ERROR_ON_TIMING_CACHE_MISS",
         "exclude-lean-runtime": "EXCLUDE_LEAN_RUNTIME", "refittable": "REFIT", "sparse-weights": "SPARSE_WEIGHTS",
         "strip-plan": "STRIP_PLAN", "version-compatible": "VERSION_COMPATIBLE", "weight-streaming": "WEIGHT_STREAMING"}
NUMBERS = {"builder-optimization-level": "builder_optimization_level", "builderOptimizationLevel": "builder_optimization_level",
           "max-aux-streams": "max_aux_streams", "maxTactics": "max_num_tactics"}
CHOICES = {"hardware-compatibility-level": ("hardware_compatibility_level", "HardwareCompatibilityLevel"),
           "tiling-optimization-level": ("tiling_optimization_level", "TilingOptimizationLevel"),
           "runtime-platform": ("runtime_platform", "RuntimePlatform"),
           "engine-capability": ("engine_capability", "EngineCapability")}


def lacks(option, what):
    raise Refused("--{}: {} has no {}".format(option, trt.__name__, what), "leave it out")


def named(option, kind, name):
    """The value of an enum of the engine's; of other cases, too."""
    values = getattr(trt, kind, None)
    if values is None:
        lacks(option, kind)
    found = {value.lower(): getattr(values, value) for value in dir(values) if value.isupper()}
    if name.lower() not in found:
        raise Refused("--{}: {} has no '{}'".format(option, kind, name), "it has " + ", ".join(sorted(found)))
    return found[name.lower()]


def size_of(option, text):
    units = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
    number, unit = (text[:-1], units[text[-1].lower()]) if text and text[-1].lower() in units else (text, 1)
    try:
        return int(float(number) * unit)
    except ValueError:
        raise Refused("--{}: '{}' is no size".format(option, text), "1G, 512M, or bytes")


def number_of(option, text):
    try:
        return int(text)
    except ValueError:
        raise Refused("--{}: '{}' is not a whole number".format(option, text))


def sum_of(option, kind, values):
    return sum(1 << int(named(option, kind, value)) for value in values)


def configure(config, settings):
    """`settings`: lists of values by the names of their options. What is not known here is refused."""
    for option, values in settings.items():
        if option in FLAGS:
            config.set_flag(named(option, "BuilderFlag", FLAGS[option]))
        elif option in ("tf32", "noTF32"):
            (config.set_flag if option == "tf32" else config.clear_flag)(named(option, "BuilderFlag", "TF32"))
        elif option in NUMBERS:
            if not hasattr(config, NUMBERS[option]):
                lacks(option, NUMBERS[option])
            setattr(config, NUMBERS[option], number_of(option, values[-1]))
        elif option in CHOICES:
            member, kind = CHOICES[option]
            setattr(config, member, named(option, kind, values[-1]))
        elif option in ("pool-limit", "memory-pool-limit"):
            for value in values:
                pool, colon, size = value.rpartition(":")
                config.set_memory_pool_limit(named(option, "MemoryPoolType", pool or "workspace"), size_of(option, size))
        elif option == "tactic-sources":
            config.set_tactic_sources(sum_of(option, "TacticSource", values))
        elif option == "preview-features":
            for value in values:
                config.set_preview_feature(named(option, "PreviewFeature", value), True)
        else:
            raise Refused("--{}: {} is not told that".format(option, trt.__name__), "leave it out")


def timing_cache(config, path):
    with open(path, "rb") as file:
        cache = config.create_timing_cache(file.read())
    if cache is None or not config.set_timing_cache(cache, False):
        raise Refused("{}: is no timing cache for this engine".format(path))


def build(model, shapes, capability, settings):
    """The engine as bytes with the outputs that its parser found, or None with who refused it and why."""
    log.lines = []
    load_plugins()
    devices, why = nvidia_devices()
    known = capabilities()
    if not capability and not devices:
        raise Refused("it has nothing to compile for: " + why, "name a compute capability: it knows " + ", ".join(known))
    if capability and capability not in known:
        raise Refused("it cannot compile for compute capability {}".format(capability),
                      "it knows " + ", ".join(known) if known else "it compiles for the GPU of its machine alone")
    weak = WeakTypes(settings)
    builder = trt.Builder(log)
    network = new_network(builder, weak.given)
    parser = trt.OnnxParser(network, log)
    if not parser.parse_from_file(model):
        return None, {"errors": errors_of(parser), "stage": "parser"}
    cache_from, cache_to = one_of(settings, "load-timing-cache"), one_of(settings, "save-timing-cache")
    scripts = ConfigScripts(settings)
    config = scripts.made(builder, network)
    if capability:
        config.num_compute_capabilities = 1
        config.set_compute_capability(known[capability], 0)
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    replay = Replay(config, settings)
    configure(config, settings)
    weak.apply(network, config)
    if cache_from:
        timing_cache(config, cache_from)
    if not scripts.make or not config.num_optimization_profiles:
        add_profile(builder, config, network, shapes)
    scripts.edited(builder, network, config)
    serialized = builder.build_serialized_network(network, config)
    replay.end()
    if serialized is None:
        return None, {"errors": [{"index": -1, "node": "", "operator": "", "text": clean(text)}
                                 for text in said(Severity.ERROR)] or [NO_REASON], "stage": "builder"}
    if cache_to:
        cache = config.get_timing_cache()
        if cache is None:
            lacks("save-timing-cache", "timing cache")
        with open(cache_to, "wb") as file:
            file.write(bytes(cache.serialize()))
    outputs = [network.get_output(index) for index in range(network.num_outputs)]
    return serialized, {"outputs": [{"name": clean(one.name), "type": TYPES.get(one.dtype.name, ("undefined",))[0],
                                     "shape": [int(size) for size in one.shape]} for one in outputs]}


NO_REASON = {"index": -1, "node": "", "operator": "", "text": "it says no reason"}


def save_engine(serialized, path):
    if path:
        with open(path, "wb") as file:
            file.write(memoryview(serialized))


def compile_model(model, shapes, capability, settings, save):
    begin = time.time()
    serialized, found = build(model, shapes, capability, settings)
    if serialized is None:
        return found
    seconds = time.time() - begin
    save_engine(serialized, save)
    return dict(layers_of(serialized, nvidia_devices()[0]), bytes=int(serialized.nbytes), seconds=seconds, errors=[], **found)


def describe(engine):
    """A built engine's own list of its kernels. The device must be one that it was built for."""
    data = engine_file(engine)
    return {"information": information_of(load(data)), "bytes": len(data)}


def engine_file(path):
    devices, why = nvidia_devices()
    if not devices:
        raise Refused("an engine file is loaded by a GPU, and " + why, "compile the ONNX file instead, which needs none")
    log.lines = []
    load_plugins()
    with open(path, "rb") as file:
        return file.read()


