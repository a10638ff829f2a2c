"""Functions that tests give to --compare-func-script and --postprocess-func-script."""
import time

import numpy as np

calls = []


def compare_outputs(outputs, reference):
    calls.append(outputs.runner_name)
    print(f"call {len(calls)}: {outputs.runner_name[:3]} with {reference.runner_name[:6]}, {', '.join(outputs)}")
    return {name: np.abs(value - reference[name]).max() < 1e-6 for name, value in outputs.items()}


def in_words(outputs, reference):
    class Verdict:
        def __bool__(self):
            return False

        def __str__(self):
            return "not\nas I like it"

    return {name: Verdict() for name in outputs}


def others(outputs, reference):
    return {"a name of mine": 1.5}


def postprocess_outputs(outputs):
    return {name: np.zeros_like(value) for name, value in outputs.items()}


def raises(outputs, reference):
    raise ValueError("no such thing")


def yes(outputs, reference):
    return True


def arrays(outputs, reference):
    return outputs


def nothing(outputs, reference):
    return {}


def objects(outputs):
    return {name: object() for name in outputs}


def hangs(outputs, reference):
    print("waiting in the script")
    time.sleep(600)


def too_few():
    return {}
