# Weakly typed networks of TensorRT 10 and older: the builder chooses among formats that it may use, by flags, ranges of a
# calibration cache, and formats of single layers.
import fnmatch

FORMATS = {"float32": ("", "FLOAT"), "float16": ("FP16", "HALF"), "bfloat16": ("BF16", "BF16"), "int8": ("INT8", "INT8"),
           "float8e4m3fn": ("FP8", "FP8"), "int4": ("INT4", "INT4")}
CONSTRAINTS = {"obey": "OBEY_PRECISION_CONSTRAINTS", "prefer": "PREFER_PRECISION_CONSTRAINTS"}


def names_of(format):
    """Of its flag, and of its type."""
    if format not in FORMATS:
        raise Refused("‹weakly-typed›: builders have no flag for {}".format(format), "they know " + ", ".join(FORMATS))
    return FORMATS[format]


def calibrator_of(path):
    """One that reads its cache, and has no data."""
    with open(path, "rb") as file:
        cache = file.read()
    base = "IInt8MinMaxCalibrator" if b"MinMax" in cache.split(b"\n", 1)[0] else "IInt8EntropyCalibrator2"
    if not hasattr(trt, base):
        raise Refused("‹weakly-typed›: {} has no calibrators".format(trt.__name__), "leave it out: a typed file has its own scales")

    class Cached(getattr(trt, base)):
        def __init__(self):
            getattr(trt, base).__init__(self)

        def get_batch_size(self):
            return 1

        def get_batch(self, names):
            return None

        def read_calibration_cache(self):
            return cache

        def write_calibration_cache(self, text):
            pass

    return Cached()


class WeakTypes:
    """What settings say of formats. None of it: the network is strongly typed."""

    def __init__(self, settings):
        self.given = settings.pop("weakly-typed", None) is not None
        take = lambda name: settings.pop(name, [])
        self.formats, self.constraints, self.layers = take("formats"), take("constraints"), take("layer-formats")
        self.cache, self.scripts, self.calibrator = take("calibration-cache"), take("network-scripts"), None
        if self.given and not hasattr(trt.BuilderFlag, "FP16"):
            raise Refused("‹weakly-typed›: {} builds strongly typed networks alone".format(trt.__name__),
                          "leave it out: the file that it gets then says the type of each layer")

    def apply(self, network, config):
        if not self.given:
            return
        for flag in (names_of(format)[0] for format in self.formats):
            if flag:
                config.set_flag(named("weakly-typed", "BuilderFlag", flag))
        for word in self.constraints:
            if word in CONSTRAINTS:
                config.set_flag(named("weakly-typed", "BuilderFlag", CONSTRAINTS[word]))
        layers = [network.get_layer(index) for index in range(network.num_layers)]
        for text in self.layers:  # later ones win
            pattern, colon, format = text.rpartition(":")
            found = [layer for layer in layers if fnmatch.fnmatchcase(layer.name, pattern)]
            for layer in found:
                layer.precision = named("layer-precisions", "DataType", names_of(format)[1])
            if not found:
                log.log(Severity.WARNING, "‹layer-precisions›: no layer of the engine's network is called '{}'".format(pattern))
        for script in self.scripts:
            function_of(script, "postprocess")(network=network)
        if self.cache:
            self.calibrator = config.int8_calibrator = calibrator_of(self.cache[0])  # which does not keep it alive
