"""In place of a model: the network from the file beside it, as postprocess.py leaves it."""
import pathlib
import sys

from polygraphy import func
from polygraphy.backend.trt import NetworkFromOnnxPath

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
from postprocess import postprocess  # noqa: E402


@func.extend(NetworkFromOnnxPath(str(FOLDER / "needs_constraints.onnx")))
def load_network(builder, network, parser):
    postprocess(network)
