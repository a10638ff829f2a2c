"""Models: files, bytes, ONNX messages, torch modules."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _core
from ._errors import UsageError


class Model:
    """An ONNX model.

    Args:
        source: a path; the bytes of a file; an ``onnx.ModelProto``; a ``torch.nn.Module`` (with ``example_inputs``), or
            what ``torch.onnx.export`` gives; or a ``Model``.
        name: stands for a model in memory in reports and messages.
        folder: where the external data of a model in memory lie; without one it may have none.

    Of a torch module, which is exported as it is in evaluation, in float32, and left as it was:

        example_inputs: what it is called with: a tensor, a tuple of them, or {argument: tensor}.
        opset: the operator set that it is exported to.
        exporter: "dynamo" (torch.export; the packages ``onnx`` and ``onnxscript`` must be there) or "torchscript" (which
            traces). None: the first where it can be used, and the second for modules that it refuses.
        dynamic_batch: the first dimension of the inputs stays open where all have the same and the module takes others.

    Inputs have the names of forward()'s arguments; an output is called "output", several "output_0" and so on, those of a
    dict by its keys. Layers are called after their modules, "features.0.0/Conv".

    A file is read when a job asks for it. Bytes are not copied. Models that jobs give are ``Model`` too.

    Raises:
        UsageError: arguments that a source has not, or packages that are missing.
        InputError: torch cannot export the module, or it has more than the 2 GB that one message can hold.
    """

    def __init__(
        self,
        source: Any,
        *,
        name: str = "",
        folder: str | os.PathLike[str] = "",
        example_inputs: Any = None,
        opset: int = 18,
        exporter: str | None = None,
        dynamic_batch: bool = True,
    ) -> None:
        torch_module = hasattr(source, "state_dict") and hasattr(source, "forward")
        if not torch_module and (example_inputs is not None or exporter is not None):
            raise UsageError(f"example_inputs are of a torch module, not of {type(source).__name__}", "leave them out")
        source = getattr(source, "model_proto", source)  # of torch.onnx.ONNXProgram
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
        elif torch_module:
            from . import _torch

            message = _torch.export(source, example_inputs, opset, exporter, dynamic_batch)
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


def model_of(source: Any) -> _core.OnnxModel:
    return (source if isinstance(source, Model) else Model(source))._core


def inputs_of(source: Any) -> Sequence[str]:
    """Names of the inputs that are fed."""
    return model_of(source).inputs
