"""Exports torch modules to ONNX, with either of torch's exporters. Only this module imports torch, and only for a module."""
from __future__ import annotations

import ast
import contextlib
import copy
import importlib.util
import inspect
import io
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from ._errors import InputError, UsageError
from ._progress import VernierWarning

EXPORTERS = ("dynamo", "torchscript")
_SCOPES = "pkg.torch.onnx.name_scopes"  # of a node: its module's path, written as a list
_STACK = "pkg.torch.onnx.stack_trace"  # places in the sources of the machine that exported


def export(module: Any, example_inputs: Any, opset: int, exporter: str | None, dynamic_batch: bool) -> bytes:
    """The module in evaluation mode and float32, as one ONNX message."""
    module = getattr(module, "_orig_mod", module)  # of torch.compile
    if example_inputs is None:
        raise UsageError(
            f"{type(module).__name__}: a torch module needs example_inputs to become a model",
            "Model(module, example_inputs=x), with a tensor, a tuple of tensors, or {argument: tensor}",
        )
    chosen = _exporters(exporter)
    module, positional, named = _in_float32(module, *_arguments(module, example_inputs))
    refused: list[Exception] = []
    with _evaluating(module):
        inputs, outputs = _input_names(module, positional, named), _output_names(module, positional, named)
        open_batch = dynamic_batch and _takes_batches(module, positional, named)
        for each in chosen:
            try:
                message = _EXPORTS[each](module, positional, named, inputs, outputs, opset, open_batch)
            except Exception as error:  # whatever torch, or the module, throws at it
                refused.append(error)
                continue
            if refused:
                warnings.warn(
                    f"torch.export refused {type(module).__name__} ({_first_line(refused[0])}); it was traced instead, "
                    "and a branch that depends on values is as example_inputs took it",
                    VernierWarning,
                    stacklevel=4,
                )
            return message
    told = "; ".join(f"{name}: {_first_line(error)}" for name, error in zip(chosen, refused))
    other = _missing() if chosen == ("torchscript",) and exporter is None else []
    raise InputError(
        f"torch could not export {type(module).__name__}: {told}",
        f"torch's other exporter may: pip install {' '.join(other)}"
        if other
        else "torch.onnx.export it to a file, and give the file's path",
    ) from refused[0]


def _exporters(exporter: str | None) -> tuple[str, ...]:
    """In the order in which they are tried. That of torch.export is the better one: it follows shapes where the other
    writes down what it saw; but it needs onnxscript, and a torch that has Dim.AUTO (2.5)."""
    import torch

    if exporter is not None and exporter not in EXPORTERS:
        raise UsageError(f"exporter={exporter!r} is not one of {', '.join(EXPORTERS)}")
    missing = _missing()
    old = not hasattr(getattr(getattr(torch, "export", None), "Dim", None), "AUTO")
    traces = "dynamo" not in inspect.signature(torch.onnx.export).parameters or hasattr(torch.onnx, "symbolic_helper")
    if exporter == "dynamo" or (exporter is None and not traces):
        if old:
            raise UsageError(f"exporter='dynamo' needs torch 2.5 or newer, this is {torch.__version__}")
        if missing:
            raise UsageError(
                f"torch's exporter needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
                f"pip install {' '.join(missing)}",
            )
        return ("dynamo",)
    if exporter == "torchscript" or missing or old:
        return ("torchscript",)
    return EXPORTERS


def _missing() -> list[str]:
    return [name for name in ("onnx", "onnxscript") if importlib.util.find_spec(name) is None]


def _arguments(module: Any, example_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call. A dict has the names of forward()'s arguments."""
    if isinstance(example_inputs, Mapping):
        known = inspect.signature(module.forward).parameters
        open_ended = any(each.kind is each.VAR_KEYWORD for each in known.values())
        if unknown := [name for name in example_inputs if name not in known and not open_ended]:
            raise UsageError(
                f"example_inputs: {type(module).__name__}.forward has no argument {unknown[0]!r}",
                "it has " + ", ".join(known),
            )
        order = {name: place for place, name in enumerate(known)}
        return (), dict(sorted(example_inputs.items(), key=lambda item: order.get(item[0], len(order))))
    if isinstance(example_inputs, (tuple, list)):
        return tuple(example_inputs), {}
    return (example_inputs,), {}


def _in_float32(
    module: Any, positional: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Errors are measured against float32, so a module of another type is copied and converted, with its inputs."""
    import torch

    values = [*module.parameters(), *module.buffers()]
    if any(value.is_floating_point() and value.dtype != torch.float32 for value in values):
        module = copy.deepcopy(module).float()
    device = values[0].device if values else None

    def placed(value: Any) -> Any:
        if type(value).__module__ == "numpy" and hasattr(value, "dtype"):
            value = torch.as_tensor(value)
        if not isinstance(value, torch.Tensor):
            return value
        return (value.float() if value.is_floating_point() else value).to(device or value.device)

    return module, tuple(_mapped(placed, each) for each in positional), _mapped(placed, named)


@contextlib.contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """Evaluation mode without gradients. Restores the mode of each part, because some may be frozen during training."""
    import torch

    training = [(part, part.training) for part in module.modules()]
    attention = getattr(torch.backends, "mha", None)
    fast = attention is not None and attention.get_fastpath_enabled()
    module.eval()
    try:
        if fast:
            attention.set_fastpath_enabled(False)  # one operator for a whole transformer layer, which ONNX has not
        with torch.no_grad():
            yield
    finally:
        if fast:
            attention.set_fastpath_enabled(True)
        for part, trains in training:
            part.training = trains


def _takes_batches(module: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether the inputs share a first dimension, and the module also accepts twice its size."""
    tensors = _batched_tensors((positional, named))
    if len({value.shape[0] for value in tensors}) != 1:
        return False
    try:
        module(*_twice(positional), **_twice(named))
    except Exception:  # any error means that this batch size is fixed
        return False
    return True


def _batched_tensors(values: Any) -> list[Any]:
    import torch

    found: list[Any] = []
    _mapped(lambda value: found.append(value) if isinstance(value, torch.Tensor) and value.dim() else None, values)
    return found


def _twice(values: Any) -> Any:
    import torch

    return _mapped(lambda value: torch.cat([value, value]) if isinstance(value, torch.Tensor) and value.dim() else value, values)


def _by_dynamo(
    module: Any,
    positional: tuple[Any, ...],
    named: dict[str, Any],
    inputs: list[str] | None,
    outputs: list[str] | None,
    opset: int,
    open_batch: bool,
) -> bytes:
    import torch

    def open_first(value: Any) -> Any:
        # AUTO: stays as it is where the module needs that.
        return {0: torch.export.Dim.AUTO} if isinstance(value, torch.Tensor) and value.dim() else None

    shapes: Any = None
    if open_batch:
        if _batched_tensors((positional, named))[0].shape[0] == 1:  # torch.export takes that for a constant
            positional, named = _twice(positional), _twice(named)
        # With both kinds of arguments one dict names them all; here they are never mixed.
        shapes = _mapped(open_first, named) if named else tuple(_mapped(open_first, each) for each in positional)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch about itself: nothing that a caller could change
        program = torch.onnx.export(
            module, positional, kwargs=named or None, output_names=outputs, opset_version=opset, dynamic_shapes=shapes,
            dynamo=True, verbose=False,
        )
    message = program.model_proto
    _name_by_modules(message.graph)
    if message.ByteSize() >= 2**31:
        raise ValueError(f"{message.ByteSize() / 1e9:.1f} GB are more than one ONNX message can hold")
    return message.SerializeToString()


def _by_torchscript(
    module: Any,
    positional: tuple[Any, ...],
    named: dict[str, Any],
    inputs: list[str] | None,
    outputs: list[str] | None,
    opset: int,
    open_batch: bool,
) -> bytes:
    import torch

    arguments = (*positional, named) if named else positional
    options: dict[str, Any] = {"input_names": inputs, "output_names": outputs, "opset_version": opset}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False
    if open_batch and inputs:
        given = dict(zip(inputs, [*positional, *named.values()]))
        options["dynamic_axes"] = {name: {0: "batch"} for name, value in given.items() if value.dim()}
    file = io.BytesIO()
    with warnings.catch_warnings():
        # That it is the old one. What the tracer has to say of the module is not left out.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", message="The feature will be removed")
        torch.onnx.export(module, arguments, file, **options)
    return file.getvalue()


_EXPORTS = {"dynamo": _by_dynamo, "torchscript": _by_torchscript}


def _input_names(module: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> list[str] | None:
    """The names of forward()'s arguments. None if one is not a tensor: the exporter names its parts."""
    import torch

    if not all(isinstance(value, torch.Tensor) for value in (*positional, *named.values())):
        return None
    names: list[str] = []
    for parameter in inspect.signature(module.forward).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{place}" for place in range(len(positional) - len(names))]
        elif parameter.kind is not parameter.VAR_KEYWORD:
            names.append(parameter.name)
    return [*names[: len(positional)], *named]


def _output_names(module: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> list[str] | None:
    """One is "output", several are "output_0" and so on, and a dict has its keys. None if something is not a tensor."""
    import torch

    given = module(*positional, **named)
    if isinstance(given, torch.Tensor):
        return ["output"]
    if isinstance(given, Mapping) and all(isinstance(value, torch.Tensor) for value in given.values()):
        return [str(name) for name in given]
    flat: list[Any] = []
    _mapped(flat.append, given)
    if not all(isinstance(value, torch.Tensor) for value in flat):
        return None
    return [f"output_{place}" for place in range(len(flat))]


def _mapped(function: Any, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _mapped(function, each) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_mapped(function, each) for each in value)
    return function(value)


def _name_by_modules(graph: Any) -> None:
    """Names nodes after their module, such as "features.0.1/Conv", the names that the author of the module knows."""
    weights = {each.name for each in graph.initializer if each.name.endswith(".weight")}
    taken: set[str] = set()
    for node in graph.node:
        told = {each.key: each.value for each in node.metadata_props}
        scopes = ast.literal_eval(told.get(_SCOPES, "[]"))
        path = scopes[-2] if len(scopes) > 1 and not scopes[-2].startswith("_") else ""
        # A convolution with its normalization in it has the scope of the latter.
        path = next((name.removesuffix(".weight") for name in node.input if name in weights), path)
        stem = name = f"{path}/{node.op_type}" if path else node.op_type
        number = 0
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name)
        node.name = name
        for place in reversed(range(len(node.metadata_props))):
            if node.metadata_props[place].key == _STACK:
                del node.metadata_props[place]


def _first_line(error: BaseException) -> str:
    """The first cause of an error, which torch wraps in advice to its own users."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
