# Tactic replays: which implementation TensorRT chose for each layer, as Polygraphy writes it. TensorRT 10 and older have
# the algorithm selector that says and takes it.
import json


def io_of(info):
    return {"dtype": str(info.dtype), "strides": [int(step) for step in info.strides],
            "vectorized_dim": int(info.vectorized_dim), "components_per_element": int(info.components_per_element),
            "polygraphy_class": "TensorInfo"}


def algorithm_of(context, choice):
    variant, inputs = choice.algorithm_variant, context.num_inputs
    ports = [io_of(choice.get_algorithm_io_info(index)) for index in range(inputs + context.num_outputs)]
    return {"implementation": int(variant.implementation), "tactic": int(variant.tactic), "inputs": ports[:inputs],
            "outputs": ports[inputs:], "polygraphy_class": "Algorithm"}


def replay_of(path):
    try:
        with open(path) as file:
            replay = json.load(file)["replay"]
        if not isinstance(replay, dict) or not all(isinstance(choice, dict) for choice in replay.values()):
            raise ValueError("its \"replay\" has no algorithm for each layer")
        return replay
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Refused("‹load-tactics›: {} is no tactic replay: {}".format(path, first_line(error)))


def same(algorithm, other):
    return all(algorithm[key] == other.get(key) for key in ("implementation", "tactic", "inputs", "outputs"))


if hasattr(trt, "IAlgorithmSelector"):
    class Tactics(trt.IAlgorithmSelector):
        def __init__(self, wanted):
            trt.IAlgorithmSelector.__init__(self)
            self.wanted, self.chosen, self.missing = wanted, {}, []

        def select_algorithms(self, context, choices):
            wanted = self.wanted.get(context.name)
            every = list(range(len(choices)))
            if wanted is None:
                return every
            found = [index for index in every if same(algorithm_of(context, choices[index]), wanted)]
            if not found:
                self.missing.append(context.name)
            return found

        def report_algorithms(self, contexts, choices):
            for context, choice in zip(contexts, choices):
                self.chosen[context.name] = algorithm_of(context, choice)


class Replay:
    """--save-tactics and --load-tactics of one build."""

    def __init__(self, config, settings):
        load = one_of_two(settings, "load-tactics", "load-tactic-replay")
        self.save, self.tactics = one_of_two(settings, "save-tactics", "save-tactic-replay"), None
        if not load and not self.save:
            return
        if not hasattr(trt, "IAlgorithmSelector") or not hasattr(config, "algorithm_selector"):
            raise Refused("--{}-tactics: {} has no algorithm selector".format("load" if load else "save", trt.__name__),
                          "TensorRT 10 and older have it; ‹save-timing-cache› keeps what kernels took, from which they are chosen")
        self.tactics = Tactics(replay_of(load) if load else {})
        config.algorithm_selector = self.tactics

    def end(self):
        """Behind the build, whatever came of it."""
        if self.tactics is None:
            return
        if self.tactics.missing:
            raise Refused("‹load-tactics›: it does not offer what the replay says of layer '{}'".format(self.tactics.missing[0]),
                          "a replay is of one model, one device and one release")
        if self.save:
            with open(self.save, "w") as file:
                json.dump({"replay": self.tactics.chosen, "polygraphy_class": "TacticReplayData"}, file, indent=1)
