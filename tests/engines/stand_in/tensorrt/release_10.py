"""What release 10 has and 11 has not: weakly typed networks, calibrators and algorithm selectors, as NVIDIA's documentation
of release 10 describes them. STAND_IN_RELEASE=10 brings them."""
import enum


class BuilderFlag(enum.IntEnum):
    FP16, INT8, TF32, OBEY_PRECISION_CONSTRAINTS, PREFER_PRECISION_CONSTRAINTS, FP8, BF16, VERSION_COMPATIBLE = 0, 1, 3, 9, 10, 17, 18, 19


class IInt8EntropyCalibrator2:
    def __init__(self):
        pass


class IInt8MinMaxCalibrator(IInt8EntropyCalibrator2):
    pass


class IAlgorithmSelector:
    def __init__(self):
        pass


class Layer:
    def __init__(self, name):
        self.name, self.precision = name, None


class Variant:
    def __init__(self, implementation, tactic):
        self.implementation, self.tactic = implementation, tactic


class Port:
    dtype, strides, vectorized_dim, components_per_element = "DataType.FLOAT", (4, 1), -1, 1


class Algorithm:
    def __init__(self, tactic):
        self.algorithm_variant = Variant(2147483657, tactic)

    def get_algorithm_io_info(self, index):
        return Port()


class AlgorithmContext:
    num_inputs = num_outputs = 1

    def __init__(self, name):
        self.name = name


def choose(config, names):
    """The second of three algorithms for each layer, where the selector leaves it. Says None where it leaves none."""
    selector, chosen = getattr(config, "algorithm_selector", None), []
    if selector is None:
        return []
    for name in names:
        offered = [Algorithm(tactic) for tactic in (11, 12, 13)]
        left = selector.select_algorithms(AlgorithmContext(name), offered)
        if not left:
            return None
        chosen.append(offered[left[len(left) // 2]])
    selector.report_algorithms([AlgorithmContext(name) for name in names], chosen)
    return [choice.algorithm_variant.tactic for choice in chosen]


def told(config, network):
    """What a weakly typed build was told, and chose."""
    calibrator = getattr(config, "int8_calibrator", None)
    return {"precisions": {layer.name: layer.precision.name for layer in network.layers if layer.precision is not None},
            "ranges": calibrator.read_calibration_cache().decode() if calibrator else "",
            "calibrator": [base.__name__ for base in type(calibrator).__mro__][1] if calibrator else ""}
