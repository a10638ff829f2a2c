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
        source: a path, the bytes of a file, an ``onnx.ModelProto``, a ``torch.nn.Module`` (with ``example_inputs``), the
            result of ``torch.onnx.export``, or a ``Model``.
        name: the name of a model in memory in reports and messages.
        folder: the folder with the external data of a model in memory.
        example_inputs: torch: the inputs of a call: a tensor, a tuple of tensors, or {argument: tensor}.
        opset: torch: the operator set to export to.
        exporter: torch: "dynamo" (torch.export; needs the packages ``onnx`` and ``onnxscript``) or "torchscript"
            (tracing). None: the first if it works, otherwise the second.
        dynamic_batch: torch: keep the first dimension of the inputs dynamic, if all share it and the module allows it.

    A torch module is exported in evaluation mode, in FP32, and is not changed. Inputs get the names of forward()'s
    arguments. One output is called "output", several "output_0" and so on; outputs in a dict get its keys. Layers are named
    after their modules: "features.0.0/Conv".

    A file is read when a job needs it. Bytes are not copied. Jobs return models as ``Model`` too.

    Raises:
        UsageError: an argument does not belong to the source, or packages are missing.
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
            raise UsageError(f"example_inputs belong to a torch module, not to {type(source).__name__}", "leave them out")
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
            text = f"a model is a path, bytes, an onnx.ModelProto or a torch.nn.Module, not {type(source).__name__}"
            raise TypeError(text + (": pass its .model" if hasattr(source, "model") else ""))

    @property
    def name(self) -> str:
        """The path, or the name of a model in memory."""
        return self._core.name

    @property
    def in_memory(self) -> bool:
        return self._core.in_memory

    def to_bytes(self) -> bytes:
        """One ONNX message with all weights. Raises InputError above 2 GB, the limit of a message."""
        return self._core.bytes()

    def to_onnx(self) -> Any:
        """An ``onnx.ModelProto``; needs the package ``onnx``."""
        import onnx

        return onnx.load_model_from_string(self.to_bytes())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, whole or not at all. Above 1.9 GB, weights go to a second file in its folder."""
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
    """Names of the model's inputs, without initializers."""
    return model_of(source).inputs
