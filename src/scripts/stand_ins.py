# What scripts of TensorRT users import, for a Python that has it not. The real packages always win, and only the script
# and what lies beside it gets these: a library that asks whether TensorRT is there is told the truth.
import importlib, importlib.abc, importlib.machinery


def ask(**question):
    """What the program that started this one says. It answers {"error": ..., "hint": ...} when it cannot."""
    tell(**question)
    said = answer()
    if "error" in said:
        raise PolygraphyException(said["error"] + (" (" + said["hint"] + ")" if said["hint"] else ""))
    return said


class PolygraphyException(Exception):
    pass


def network_of(path=None, data=None):
    if not asks:
        raise PolygraphyException("networks are made by loader scripts for models: vernier run " +
                                  os.path.basename(SCRIPT))
    if path is not None:
        source = {"path": clean(os.fspath(path))}
    else:
        source = {"bytes": [write(memoryview(data)), len(data)]}
    return source, ask(describe=source)


asks = False  # the program that started this one answers; set by load_model.py


# tensorrt


class Logger(StandIn):
    WHAT = "trt.Logger"
    Severity = Named("Severity", ["INTERNAL_ERROR", "ERROR", "WARNING", "INFO", "VERBOSE"], start=0)
    INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = Severity
    min_severity = property(lambda self: self._severity, lambda self, value: setattr(self, "_severity", value))

    def __init__(self, min_severity=None):
        self._severity = min_severity or self.WARNING

    def log(self, severity, text):
        print(text, file=sys.stderr)


class Builder(StandIn):
    WHAT = "trt.Builder"
    platform_has_fast_fp16 = platform_has_fast_int8 = True

    def __init__(self, logger=None):
        self._logger = logger

    def create_network(self, flags=0):
        return Network()


class OnnxParser(StandIn):
    WHAT = "trt.OnnxParser"
    num_errors = 0

    def __init__(self, network, logger=None):
        self._network = network

    def parse_from_file(self, path):
        source, said = network_of(path=path)
        self._network._describe(said, source)
        return True

    def parse(self, model, path=None):
        source, said = network_of(data=bytes(model))
        self._network._describe(said, source)
        return True

    def set_flag(self, flag):
        pass

    clear_flag = set_flag

    def get_flag(self, flag):
        return False


NetworkDefinitionCreationFlag = Named("NetworkDefinitionCreationFlag", ["EXPLICIT_BATCH", "STRONGLY_TYPED"], start=0)
OnnxParserFlag = Named("OnnxParserFlag", {"NATIVE_INSTANCENORM": 0})


def init_libnvinfer_plugins(logger=None, namespace=""):
    return True


# polygraphy


class Messages:
    """polygraphy.logger.G_LOGGER: everything goes to standard error."""
    ULTRA_VERBOSE, SUPER_VERBOSE, EXTRA_VERBOSE, VERBOSE = -30, -20, -10, 0
    INFO, START, FINISH, WARNING, ERROR, CRITICAL = 10, 20, 28, 30, 40, 50
    severity = module_severity = INFO

    def log(self, message, severity=INFO, **_):
        if severity >= (self.severity if isinstance(self.severity, int) else self.INFO):
            letter = "E" if severity >= self.ERROR else "W" if severity >= self.WARNING else "I"
            sys.stderr.write("[{}] {}\n".format(letter, message() if callable(message) else message))

    def critical(self, message, **_):
        raise PolygraphyException(str(message))

    def verbosity(self, *_):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def level(severity):
    return lambda self, message, **_: self.log(message, severity)


for each in ("ultra_verbose", "super_verbose", "extra_verbose", "verbose", "info", "start", "finish", "warning",
             "error"):
    setattr(Messages, each, level(getattr(Messages, each.upper())))
G_LOGGER = Messages()


def extend(extended):
    """Decorates a function that takes what `extended` returns, and changes it."""
    import functools

    def decorate(function):
        @functools.wraps(function)
        def both(*args, **kwargs):
            first = extended(*args, **kwargs)
            results = first if type(first) is tuple else (first,)
            wanted = len(inspect.signature(function).parameters)
            if wanted == 0 and first is None:
                second = function()
            elif wanted == len(results):
                second = function(*results)
            elif wanted == len(results) + len(args) + len(kwargs):
                second = function(*(args + tuple(kwargs.values()) + results))
            else:
                raise PolygraphyException("{} takes {} arguments, and what it extends returns {}".format(
                    function.__name__, wanted, len(results)))
            return first if second is None else second
        return both
    return decorate


def called(value):
    return value() if callable(value) else value


class NetworkFromOnnxPath:
    def __init__(self, path, *_, **__):
        self.path = path

    def __call__(self):
        builder, network = Builder(), Network()
        parser = OnnxParser(network)
        parser.parse_from_file(called(self.path))
        return builder, network, parser


class NetworkFromOnnxBytes:
    def __init__(self, model_bytes, *_, **__):
        self.model_bytes = model_bytes

    def __call__(self):
        builder, network = Builder(), Network()
        parser = OnnxParser(network)
        parser.parse(called(self.model_bytes))
        return builder, network, parser


class PostprocessNetwork:
    def __init__(self, network, func, name=None):
        self.network, self.func = network, func

    def __call__(self):
        made = called(self.network)
        self.func(network=made[1])
        return made


class OnnxFromPath:
    def __init__(self, path, *_, **__):
        self.path = path

    def __call__(self):
        import onnx
        return onnx.load(called(self.path))


class BytesFromOnnx:
    def __init__(self, model, *_, **__):
        self.model = model

    def __call__(self):
        return called(self.model).SerializeToString()


class Profile(dict):
    """Shapes of inputs. Nothing here depends on them."""

    def add(self, name, min, opt, max):
        self[name] = (min, opt, max)
        return self


class IterationResult(dict):
    """The outputs of one iteration, by name."""

    def __init__(self, outputs=None, runtime=None, runner_name=None):
        super().__init__(outputs or {})
        self.runtime, self.runner_name = runtime, runner_name or ""


class RunResults:
    """[(name of the runner, [IterationResult, ...]), ...]"""

    def __init__(self, lst=None):
        self.lst = list(lst or [])

    def items(self):
        return iter(self.lst)

    def keys(self):
        return iter([name for name, _ in self.lst])

    def values(self):
        return iter([iterations for _, iterations in self.lst])

    def update(self, other):
        for name, iterations in other.items():
            self[name] = iterations

    def add(self, out_list, runtime=None, runner_name=None):
        self.lst.append((runner_name or "custom_runner", [IterationResult(each, runtime, runner_name)
                                                          for each in out_list]))

    def __iter__(self):
        return iter(self.lst)

    def __len__(self):
        return len(self.lst)

    def __contains__(self, name):
        return any(name == each for each, _ in self.lst)

    def __getitem__(self, key):
        if isinstance(key, int):
            return self.lst[key]
        for name, iterations in self.lst:
            if name == key:
                return iterations
        raise KeyError("no run is called {!r}; there are: {}".format(key, ", ".join(self.keys())))

    def __setitem__(self, key, value):
        if isinstance(key, int):
            self.lst[key] = value
            return
        self.lst = [(name, value if name == key else old) for name, old in self.lst]
        if key not in self:
            self.lst.append((key, value))

    @staticmethod
    def load(src):
        loaded = load_json(src)
        if not isinstance(loaded, RunResults):
            raise PolygraphyException("{}: holds no saved outputs".format(src))
        return loaded

    def save(self, dest):
        save_json(self, dest)


def from_json(value):
    kind = value.get("polygraphy_class")
    if kind in ("ndarray", "Tensor"):
        import base64, io, numpy
        return numpy.load(io.BytesIO(base64.b64decode(value["array"])), allow_pickle=False)
    if kind in ("LazyArray", "LazyNumpyArray"):
        return value["values"]
    if kind == "IterationResult":
        return IterationResult(value["outputs"], value.get("runtime"), value.get("runner_name"))
    if kind == "RunResults":
        return RunResults([(name, iterations) for name, iterations in value["lst"]])
    return value


def into_json(value):
    if isinstance(value, RunResults):
        return {"lst": [[name, [into_json(each) for each in iterations]] for name, iterations in value.lst],
                "polygraphy_class": "RunResults"}
    if isinstance(value, IterationResult):
        return {"outputs": {name: {"values": into_json(each), "polygraphy_class": "LazyArray"}
                            for name, each in value.items()},
                "runtime": value.runtime, "runner_name": value.runner_name, "polygraphy_class": "IterationResult"}
    if isinstance(value, Mapping):
        return {str(key): into_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [into_json(each) for each in value]
    if hasattr(value, "dtype") and hasattr(value, "tobytes"):
        if not getattr(value, "shape", ()) and hasattr(value, "item") and type(value).__name__ != "ndarray":
            return value.item()
        import base64, io, numpy
        file = io.BytesIO()
        numpy.save(file, value, allow_pickle=False)
        return {"array": base64.b64encode(file.getvalue()).decode("ascii"), "polygraphy_class": "ndarray"}
    return value


def load_json(src, description=None):
    if hasattr(src, "read"):
        return json.loads(src.read(), object_hook=from_json)
    with open(src, encoding="utf-8") as file:
        return json.load(file, object_hook=from_json)


def save_json(obj, dest, description=None):
    text = json.dumps(into_json(obj), indent=4)
    if hasattr(dest, "write"):
        dest.write(text)
        return
    with open(dest, "w", encoding="utf-8") as file:
        file.write(text)


def functional(loader):
    """network_from_onnx_path(...) is NetworkFromOnnxPath(...)()."""
    return lambda *args, **kwargs: loader(*args, **kwargs)()


# The modules


class StandInModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError("'{}' is not there: {}".format(
            self.__name__ + "." + name,
            listed(self.__name__, sorted(each for each in vars(self) if not each.startswith("_")))))


STAND_INS = {}


def stand_in(name, names, package=False):
    module = STAND_INS[name] = StandInModule(name)
    module.__file__ = "the stand-in of vernier"
    if package:
        module.__path__ = []
    vars(module).update(names)
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(STAND_INS[parent], last, module)


stand_in("tensorrt", dict(
    {"__version__": "10.0.0"}, DataType=DataType, LayerType=LayerType, Logger=Logger, ILogger=Logger, Builder=Builder,
    OnnxParser=OnnxParser, INetworkDefinition=Network, ILayer=Layer, ITensor=Tensor, OnnxParserFlag=OnnxParserFlag,
    NetworkDefinitionCreationFlag=NetworkDefinitionCreationFlag, init_libnvinfer_plugins=init_libnvinfer_plugins,
    float32=DataType.FLOAT, float16=DataType.HALF, bfloat16=DataType.BF16, int8=DataType.INT8, uint8=DataType.UINT8,
    int32=DataType.INT32, int64=DataType.INT64, int4=DataType.INT4, bool=DataType.BOOL, fp8=DataType.FP8,
    fp4=DataType.FP4))
stand_in("polygraphy", {"__version__": "0.49.0"}, package=True)
stand_in("polygraphy.backend", {}, package=True)
stand_in("polygraphy.backend.trt", {
    "NetworkFromOnnxPath": NetworkFromOnnxPath, "network_from_onnx_path": functional(NetworkFromOnnxPath),
    "NetworkFromOnnxBytes": NetworkFromOnnxBytes, "network_from_onnx_bytes": functional(NetworkFromOnnxBytes),
    "PostprocessNetwork": PostprocessNetwork, "postprocess_network": functional(PostprocessNetwork),
    "Profile": Profile, "get_trt_logger": Logger})
stand_in("polygraphy.backend.onnx", {
    "OnnxFromPath": OnnxFromPath, "onnx_from_path": functional(OnnxFromPath),
    "BytesFromOnnx": BytesFromOnnx, "bytes_from_onnx": functional(BytesFromOnnx)})
stand_in("polygraphy.func", {"extend": extend})
stand_in("polygraphy.comparator", {"RunResults": RunResults, "IterationResult": IterationResult})
stand_in("polygraphy.json", {"load_json": load_json, "save_json": save_json})
stand_in("polygraphy.logger", {"G_LOGGER": G_LOGGER})
stand_in("polygraphy.exception", {"PolygraphyException": PolygraphyException})


def asked_by_the_script():
    """True when the import that is going on stands in the script, beside it, in a stand-in, or in Polygraphy."""
    folder = os.path.join(os.path.dirname(os.path.abspath(SCRIPT)), "")
    frame = sys._getframe(2)
    while frame and str(frame.f_globals.get("__name__", "")).split(".")[0] == "importlib":
        frame = frame.f_back
    while frame and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    while frame and str(frame.f_globals.get("__name__", "")).split(".")[0] == "importlib":
        frame = frame.f_back
    if frame is None:
        return False
    file = frame.f_code.co_filename
    module = str(frame.f_globals.get("__name__", "")).split(".")[0]
    if file in OURS or module == "polygraphy":
        return True
    file = os.path.abspath(file)
    return file.startswith(folder) and not any(
        part in ("site-packages", "dist-packages") for part in file[len(folder):].split(os.sep))


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Behind all others, so that it is asked only for what nobody has."""

    def find_spec(self, name, path=None, target=None):
        if name not in STAND_INS:
            return None
        parent = name.rpartition(".")[0]
        if parent and sys.modules.get(parent) is not STAND_INS[parent]:
            return None  # a module that the real package lacks
        if not parent and not asked_by_the_script():
            return None
        module = STAND_INS[name]
        return importlib.machinery.ModuleSpec(name, self, origin=module.__file__, is_package=hasattr(module, "__path__"))

    def create_module(self, spec):
        return STAND_INS[spec.name]

    def exec_module(self, module):
        pass


sys.meta_path.append(Finder())


