"""Models: files, bytes, ONNX messages, torch modules."""
from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

from . import _core


class Model:
    """An ONNX model.

    Args:
        source: a path; the bytes of a file; an ``onnx.ModelProto``; a ``torch.nn.Module`` (with ``example_inputs``);
            or a ``Model``.
        name: stands for a model in memory in reports and messages.
        folder: where the external data of a model in memory lie; without one it may have none.
        example_inputs: of a torch module: what it is called with, a tensor or a tuple of them.
        opset: of a torch module: the operator set that it is exported to.

    A file is read when a job asks for it. Bytes are not copied. Models that jobs give are ``Model`` too.
    """

    def __init__(
        self,
        source: Any,
        *,
        name: str = "",
        folder: str | os.PathLike[str] = "",
        example_inputs: Any = None,
        opset: int = 18,
    ) -> None:
        if isinstance(source, Model):
            self._core: _core.OnnxModel = source._core
        elif isinstance(source, _core.OnnxModel):
            self._core = source
        elif isinstance(source, (str, os.PathLike)):
            self._core = _core.OnnxModel(os.fspath(source))
        elif isinstance(source, (bytes, bytearray, memoryview)):
            self._core = _core.OnnxModel.of_bytes(bytes(source), name or "model", os.fspath(folder))
        elif hasattr(source, "SerializeToString") and hasattr(source, "graph"):
            title = name or source.graph.name or "model"
            self._core = _core.OnnxModel.of_bytes(source.SerializeToString(), title, os.fspath(folder))
        elif hasattr(source, "state_dict") and hasattr(source, "forward"):
            message = _export_torch(source, example_inputs, opset)
            self._core = _core.OnnxModel.of_bytes(message, name or type(source).__name__, "")
        else:
            raise TypeError(
                f"a model is a path, bytes, an onnx.ModelProto or a torch.nn.Module, not {type(source).__name__}"
            )

    @property
    def name(self) -> str:
        """The path, or the name of a model in memory."""
        return self._core.name

    @property
    def in_memory(self) -> bool:
        return self._core.in_memory

    def to_bytes(self) -> bytes:
        """One ONNX message with all weights in it. Raises InputError above 2 GB, which a message cannot hold."""
        return self._core.bytes()

    def to_onnx(self) -> Any:
        """An ``onnx.ModelProto``; the package ``onnx`` must be there."""
        import onnx

        return onnx.load_model_from_string(self.to_bytes())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, whole or not at all; above 1.9 GB weights go to a file beside it."""
        self._core.write(os.fspath(path))

    def __repr__(self) -> str:
        return f"Model({self.name!r})"

    def __reduce__(self) -> Any:
        if self.in_memory:
            return _from_bytes, (self.to_bytes(), self.name)
        return Model, (str(self._core.file),)


def _from_bytes(message: bytes, name: str) -> Model:
    return Model(message, name=name)


def _export_torch(module: Any, example_inputs: Any, opset: int) -> bytes:
    import torch

    if example_inputs is None:
        raise ValueError("a torch module needs example_inputs: what it is called with, a tensor or a tuple of them")
    inputs = example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            file = io.BytesIO()
            # The exporter that needs no further package, where torch has both.
            try:
                torch.onnx.export(module, tuple(inputs), file, opset_version=opset, dynamo=False)
            except TypeError:
                torch.onnx.export(module, tuple(inputs), file, opset_version=opset)
    finally:
        module.train(training)
    return file.getvalue()


def model_of(source: Any) -> _core.OnnxModel:
    return (source if isinstance(source, Model) else Model(source))._core


def inputs_of(source: Any) -> Sequence[str]:
    """Names of the inputs that are fed."""
    return model_of(source).inputs
