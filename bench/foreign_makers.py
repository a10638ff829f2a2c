"""Q/DQ files as other tools write them, for bench/foreign_files.py, which starts this in a Python of its own:

    python bench/foreign_makers.py OUT INPUTS MAKER ...      the makers: --list

writes OUT/FILE.onnx for each, and for networks trained here their float file OUT/FILE_float.onnx beside it. INPUTS holds
the calibration samples NETWORK.npy. What cannot be made here, because its tool is not installed or refuses, is left out with the
reason.

Needs numpy and onnx, and for each maker its tool: onnxruntime; nvidia-modelopt with torch; torch; nncf. VERNIER_SHARED.
"""
import copy
import pathlib
import sys

import numpy as np

from networks import SHARED, model_file

NETWORKS = ["mobilenetv2-imagenet", "rfb320-face", "resnet8-cifar"]


def input_name(path):
    import onnx

    graph = onnx.load(path).graph
    weights = {tensor.name for tensor in graph.initializer}
    return next(value.name for value in graph.input if value.name not in weights)


def samples_of(inputs, network):
    return list(np.load(inputs / f"{network}.npy"))


def onnxruntime_static(network, out, inputs, **options):
    from onnxruntime import quantization

    name, samples = input_name(model_file(network)), samples_of(inputs, network)

    class Reader(quantization.CalibrationDataReader):
        left = iter(samples)

        def get_next(self):
            sample = next(self.left, None)
            return None if sample is None else {name: sample}

    quantization.quantize_static(model_file(network), out, Reader(), quant_format=quantization.QuantFormat.QDQ, **options)


def onnxruntime_uint8(network, out, inputs):
    import onnx

    # Below opset 13 its files per channel are refused by itself.
    opset = next(entry.version for entry in onnx.load(model_file(network)).opset_import if entry.domain in ("", "ai.onnx"))
    onnxruntime_static(network, out, inputs, per_channel=opset >= 13)


def modelopt_onnx(network, out, inputs, **options):
    from modelopt.onnx.quantization import quantize

    samples = np.concatenate(samples_of(inputs, network))
    quantize(str(model_file(network)), calibration_data={input_name(model_file(network)): samples}, output_path=str(out),
             calibration_eps=["cpu"], log_level="ERROR", **options)


def modelopt_int8(network, out, inputs):
    modelopt_onnx(network, out, inputs, quantize_mode="int8", high_precision_dtype="fp32", calibration_method="max")


def modelopt_int8_fp16(network, out, inputs):
    """Its defaults: entropy, and what is not quantized in float16."""
    modelopt_onnx(network, out, inputs, quantize_mode="int8")


def modelopt_dq_only(network, out, inputs):
    modelopt_onnx(network, out, inputs, quantize_mode="int8", high_precision_dtype="fp32", dq_only=True)


def modelopt_fp8(network, out, inputs):
    modelopt_onnx(network, out, inputs, quantize_mode="fp8", high_precision_dtype="fp32")


def nncf_onnx(network, out, inputs):
    import nncf
    import onnx

    name, model = input_name(model_file(network)), onnx.load(model_file(network))
    if model.opset_import[0].version < 13:  # it refuses those below 10, and per channel needs 13
        model = onnx.version_converter.convert_version(model, 13)
    quantized = nncf.quantize(model,
                              nncf.Dataset([{name: sample} for sample in samples_of(inputs, network)]))
    onnx.save(quantized, out)


# Quantization-aware training: a small residual network on CIFAR pictures, with BatchNormalization as a trainer has it.

def cifar():
    import torch

    images = np.load(SHARED / "data/cifar10/images_u8_nhwc.npy").transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1
    labels = np.load(SHARED / "data/cifar10/labels.npy")
    return torch.from_numpy(images), torch.from_numpy(labels)


def small_network():
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
            self.norm1 = nn.BatchNorm2d(channels)
            self.pointwise = nn.Conv2d(channels, channels, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(channels)

        def forward(self, x):
            y = torch.relu(self.norm1(self.depthwise(x)))
            return torch.relu(x + self.norm2(self.pointwise(y)))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 24, 3, padding=1, bias=False)
            self.norm = nn.BatchNorm2d(24)
            self.block1 = Block(24)
            self.pool = nn.MaxPool2d(2)
            self.block2 = Block(24)
            self.head = nn.Linear(24, 10)

        def forward(self, x):
            x = self.pool(torch.relu(self.norm(self.stem(x))))
            x = self.pool(self.block1(x))
            return self.head(self.block2(x).mean((2, 3)))

    torch.manual_seed(1)
    return Network()


def train(model, rounds, rate):
    import torch

    images, labels = cifar()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    model.train()
    torch.manual_seed(2)
    for _ in range(rounds):
        order = torch.randperm(len(images))
        for first in range(0, len(order), 26):
            some = order[first:first + 26]
            loss = torch.nn.functional.cross_entropy(model(images[some]), labels[some])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    accuracy = (model(images).argmax(1) == labels).float().mean().item()
    print(f"trained: loss {loss.item():.3f}, {100 * accuracy:.0f} % of the pictures that it was trained on", flush=True)


def export(model, out, opset=17):
    import torch

    torch.onnx.export(model, (cifar()[0][:1],), str(out), input_names=["picture"], output_names=["logits"], opset_version=opset,
                      dynamo=False)


def fold_norms(model):
    """BatchNormalization into the weights, as trainers do before they insert fake quantizers."""
    from torch.nn.utils.fusion import fuse_conv_bn_eval
    from torch import nn

    folded = copy.deepcopy(model).eval()
    folded.stem, folded.norm = fuse_conv_bn_eval(folded.stem, folded.norm), nn.Identity()
    for block in (folded.block1, folded.block2):
        block.depthwise, block.norm1 = fuse_conv_bn_eval(block.depthwise, block.norm1), nn.Identity()
        block.pointwise, block.norm2 = fuse_conv_bn_eval(block.pointwise, block.norm2), nn.Identity()
    return folded


def with_learned_scales(model):
    """Fake quantization of every convolution's and product's input (uint8, asymmetric) and weight (int8 per channel), whose
    scales are parameters and are trained along (LSQ: gradients straight through the rounding)."""
    import torch
    from torch import nn

    def straight(value):
        return value + (value.round() - value).detach()

    class Learned(nn.Module):
        def __init__(self, layer, seen):
            super().__init__()
            self.layer = layer
            low, high = min(seen.min().item(), 0.0), seen.max().item()
            self.zero = round(-255 * low / (high - low))
            self.log_scale = nn.Parameter(torch.tensor((high - low) / 255).log())
            weight = layer.weight.detach()
            self.weight_log_scale = nn.Parameter((weight.abs().flatten(1).amax(1) / 127).clamp_min(1e-6).log())

        def forward(self, x):
            scale, weight_scale = self.log_scale.exp(), self.weight_log_scale.exp()
            weight = self.layer.weight
            if torch.onnx.is_in_onnx_export():
                x = torch.fake_quantize_per_tensor_affine(x, float(scale), self.zero, 0, 255)
                weight = torch.fake_quantize_per_channel_affine(
                    weight, weight_scale.detach(), torch.zeros(len(weight_scale), dtype=torch.int32), 0, -128, 127)
            else:
                x = (straight(x / scale + self.zero).clamp(0, 255) - self.zero) * scale
                along = weight_scale.reshape(-1, *[1] * (weight.dim() - 1))
                weight = straight(weight / along).clamp(-128, 127) * along
            if isinstance(self.layer, nn.Linear):
                return nn.functional.linear(x, weight, self.layer.bias)
            return self.layer._conv_forward(x, weight, self.layer.bias)  # pylint: disable=protected-access

    seen = {}
    layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, (nn.Conv2d, nn.Linear))}
    hooks = [layer.register_forward_pre_hook(lambda _, given, name=name: seen.__setitem__(name, given[0].detach()))
             for name, layer in layers.items()]
    model(cifar()[0])
    for hook in hooks:
        hook.remove()
    for name, layer in layers.items():
        parent, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(parent), leaf, Learned(layer, seen[name]))
    return model


def without_quantizers(model):
    """The trained weights alone."""
    plain = copy.deepcopy(model)
    for name, layer in list(plain.named_modules()):
        if hasattr(layer, "weight_log_scale"):
            parent, _, leaf = name.rpartition(".")
            setattr(plain.get_submodule(parent), leaf, layer.layer)
    return plain


def trained_torch(out, keep_norms):
    model = small_network()
    train(model, 12, 3e-3)
    model = with_learned_scales(model.eval() if keep_norms else fold_norms(model))
    train(model, 4, 3e-4)
    export(model, out)
    export(without_quantizers(model), out.with_name(out.stem + "_float.onnx"))


def torch_trained(out):
    trained_torch(out, keep_norms=False)


def torch_trained_norms(out):
    """The file keeps BatchNormalization behind quantized weights; in the float file the exporter folds it."""
    trained_torch(out, keep_norms=True)


def modelopt_trained(out):
    """ModelOpt's own fake quantizers in PyTorch, trained through and exported by it."""
    import modelopt.torch.quantization as mtq

    model = small_network()
    train(model, 12, 3e-3)
    model = mtq.quantize(fold_norms(model), mtq.INT8_DEFAULT_CFG, lambda quantized: quantized(cifar()[0]))
    train(model, 4, 3e-4)
    export(model, out)
    mtq.disable_quantizer(model, "*")
    export(model, out.with_name(out.stem + "_float.onnx"))


OF_NETWORKS = {"onnxruntime": onnxruntime_uint8, "modelopt": modelopt_int8, "modelopt-fp16": modelopt_int8_fp16,
               "modelopt-dq-only": modelopt_dq_only, "modelopt-fp8": modelopt_fp8, "nncf": nncf_onnx}
TRAINED = {"torch-trained": torch_trained, "torch-trained-norms": torch_trained_norms, "modelopt-trained": modelopt_trained}


def names():
    return [f"{maker}_{network}" for maker in OF_NETWORKS for network in NETWORKS] + list(TRAINED)


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(names()))
        return
    folder, inputs, *wanted = arguments
    folder = pathlib.Path(folder).resolve()
    for name in wanted or names():
        out = folder / f"{name}.onnx"
        maker, _, network = name.partition("_")
        try:
            if network:
                OF_NETWORKS[maker](network, out, pathlib.Path(inputs).resolve())
            else:
                TRAINED[maker](out)
        except Exception as error:  # of whatever kind: a tool may be missing, or refuse the network
            print(f"{name}: not made: {str(error).splitlines()[0] if str(error) else type(error).__name__}", flush=True)
            continue
        print(f"{name}: written", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
