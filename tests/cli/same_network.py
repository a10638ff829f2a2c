"""Whether two typed files are the same but for what they claim in their metadata: same_network.py A B"""
import sys

import onnx


def network(path):
    model = onnx.load(path)
    kept = [entry for entry in model.metadata_props if entry.key not in ("vernier.requirement", "vernier.figure")]
    del model.metadata_props[:]
    model.metadata_props.extend(kept)
    return model.SerializeToString(deterministic=True)


sys.exit(network(sys.argv[1]) != network(sys.argv[2]))
