"""Networks of bench/format_peers.py in PyTorch: trains and exports one, and quantizes it with ModelOpt and torchao.

    PYTHON bench/format_networks.py NETWORK FOLDER      writes FOLDER/float.onnx, calibration.npy, test.npy, labels.npy
    PYTHON bench/format_networks.py NETWORK FOLDER --peers     and then FOLDER/RECIPE.npy, the outputs of each recipe

PYTHON has torch, onnxscript, scikit-learn, nvidia-modelopt and torchao. Calibrating and held-out samples are disjoint. What a recipe
took is printed as a line "RESULT {...}".
"""
import argparse
import copy
import importlib.metadata
import json
import os
import pathlib
import pydoc_data.topics
import resource
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHARED = pathlib.Path(os.environ.get("VERNIER_SHARED", ROOT.parent / "shared"))
sys.path.insert(0, str(ROOT / "examples/digits"))
import train as digits  # noqa: E402

THREADS = 1  # more wait for each other where other programs run


class Attention(nn.Module):
    """Grouped queries and rotary positions where the network has them."""

    def __init__(self, width, heads, groups, bias, causal, tokens, rotary=False):
        super().__init__()
        self.heads, self.groups, self.size, self.causal = heads, groups, width // heads, causal
        self.query = nn.Linear(width, width, bias=bias)
        self.key = nn.Linear(width, groups * self.size, bias=bias)
        self.value = nn.Linear(width, groups * self.size, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)
        self.register_buffer("mask", torch.full((tokens, tokens), -1e9).triu(1), persistent=False)
        angles = torch.outer(torch.arange(tokens), 10000 ** (-torch.arange(0, self.size, 2) / self.size))
        self.register_buffer("turn", torch.stack([angles.cos(), angles.sin()]) if rotary else None, persistent=False)

    def rotated(self, x):
        if self.turn is None:
            return x
        (cos, sin), (even, odd) = self.turn, x.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)

    def forward(self, x):
        def split(y, count):
            return y.unflatten(-1, (count, self.size)).transpose(1, 2)

        q = self.rotated(split(self.query(x), self.heads))
        k, v = self.rotated(split(self.key(x), self.groups)), split(self.value(x), self.groups)
        if self.groups != self.heads:
            k, v = (y.repeat_interleave(self.heads // self.groups, 1) for y in (k, v))
        scores = q @ k.transpose(-1, -2) * self.size ** -0.5
        if self.causal:
            scores = scores + self.mask
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, tokens, causal):
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, heads, True, causal, tokens)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.down(functional.gelu(self.up(self.mlp_norm(x))))


class Vit(nn.Module):
    """Logits [N,10] of pixel counts [N,1,8,8], in patches of 2x2."""

    def __init__(self, width=64, depth=4):
        super().__init__()
        self.patch = nn.Conv2d(1, width, 2, 2)
        self.positions = nn.Parameter(0.02 * torch.randn(16, width))
        self.blocks = nn.Sequential(*(Block(width, 4, 16, False) for _ in range(depth)))
        self.norm, self.classifier = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, counts):
        x = self.patch(counts / 16).flatten(2).transpose(1, 2) + self.positions
        return self.classifier(self.norm(self.blocks(x)).mean(1))


class Gpt(nn.Module):
    """Logits [N,64,128] of the next character."""
    TOKENS = 64

    def __init__(self, width=128, depth=2):
        super().__init__()
        self.embedding = nn.Embedding(128, width)
        self.positions = nn.Parameter(0.02 * torch.randn(self.TOKENS, width))
        self.blocks = nn.Sequential(*(Block(width, 4, self.TOKENS, True) for _ in range(depth)))
        self.norm, self.unembedding = nn.LayerNorm(width), nn.Linear(width, 128, bias=False)

    def forward(self, ids):
        return self.unembedding(self.norm(self.blocks(self.embedding(ids) + self.positions)))


class LlamaBlock(nn.Module):
    def __init__(self, width, hidden, heads, groups, tokens):
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.attention = Attention(width, heads, groups, False, True, tokens, rotary=True)
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        y = self.mlp_norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """The shared stories260k, with its weights."""
    NAMES = {"attention.query": "attention.wq", "attention.key": "attention.wk", "attention.value": "attention.wv",
             "attention.out": "attention.wo", "gate": "feed_forward.w1", "up": "feed_forward.w3", "down": "feed_forward.w2",
             "attention_norm": "attention_norm", "mlp_norm": "ffn_norm"}
    DEPTH = 5

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(512, 64)
        self.blocks = nn.Sequential(*(LlamaBlock(64, 172, 8, 4, 128) for _ in range(self.DEPTH)))
        self.norm, self.unembedding = nn.RMSNorm(64, eps=1e-5), nn.Linear(64, 512, bias=False)

    def forward(self, ids):
        return self.unembedding(self.norm(self.blocks(self.embedding(ids))))

    @classmethod
    def trained(cls):
        import onnx
        from onnx import numpy_helper

        graph = onnx.load(SHARED / "models/stories260k/model.onnx").graph
        stored = {i.name: torch.from_numpy(numpy_helper.to_array(i).copy()) for i in graph.initializer}
        names = {"embedding": "tok_embeddings", "norm": "norm", "unembedding": "output"}
        names |= {f"blocks.{n}.{ours}": f"layers.{n}.{theirs}" for n in range(cls.DEPTH) for ours, theirs in cls.NAMES.items()}
        linear = lambda name: "norm" not in name and name != "embedding"  # noqa: E731
        net = cls()
        net.load_state_dict({f"{ours}.weight": stored[f"{theirs}.weight"].T if linear(ours) else stored[f"{theirs}.weight"]
                             for ours, theirs in names.items()})
        return net.eval()


def trained_vit(x, y):
    net, generator = Vit(), torch.Generator().manual_seed(0)
    epochs, batch = 60, 64
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=5e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=epochs * -(-len(x) // batch))
    for _ in range(epochs):
        for chosen in torch.randperm(len(x), generator=generator).split(batch):
            step(optimizer, schedule, functional.cross_entropy(net(digits.shift(x[chosen], generator)), y[chosen]))
    return net.eval()


def step(optimizer, schedule, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()


def trained_gpt(text):
    net, generator = Gpt(), torch.Generator().manual_seed(0)
    steps, batch = 500, 32
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps)
    for _ in range(steps):
        starts = torch.randint(0, len(text) - net.TOKENS, (batch, 1), generator=generator)
        windows = text[starts + torch.arange(net.TOKENS + 1)]
        step(optimizer, schedule, functional.cross_entropy(net(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten()))
    return net.eval()


def digits_data():
    (x, y), (calibration, _), (test, labels) = digits.split_data(seed=0)
    return (torch.from_numpy(x), torch.from_numpy(y)), calibration[:, None], test[:, None], labels


def digits_cnn():
    (x, y), *data = digits_data()
    return digits.train(x.numpy(), y.numpy(), epochs=60, seed=0), *data


def digits_vit():
    (x, y), *data = digits_data()
    return trained_vit(x, y), *data


def text_gpt():
    """Characters of the help texts that Python carries; the last tenth is held out."""
    topics = pydoc_data.topics.topics
    text = np.frombuffer("".join(topics[name] for name in sorted(topics)).encode("ascii", "replace"), np.uint8).astype(np.int64)
    train, rest = np.split(text, [len(text) * 9 // 10])
    windows = lambda part, count: part[:len(part) // 65 * 65].reshape(-1, 65)[::len(part) // 65 // count][:count]  # noqa: E731
    calibration, test = windows(train, 64), windows(rest, 128)
    return trained_gpt(torch.from_numpy(train)), calibration[:, None, :-1], test[:, None, :-1], test[:, 1:]


def stories260k():
    tokens = np.load(SHARED / "data/stories/tokens.npy")
    return Llama.trained(), tokens[:16, None], tokens[16:, None], tokens[16:, 1:]


NETWORKS = {"digits-cnn": digits_cnn, "digits-vit": digits_vit, "text-gpt": text_gpt, "stories260k": stories260k}


def made(name, folder):
    """The network; its files are written the first time."""
    torch.manual_seed(0)
    saved = folder / "float.pt"
    if saved.exists():
        return torch.load(saved, weights_only=False)
    net, calibration, test, labels = NETWORKS[name]()
    for part, value in (("calibration", calibration), ("test", test), ("labels", labels)):
        np.save(folder / f"{part}.npy", value)
    # The optimizer of torch 2.15's exporter takes "+ 1e-8" for nothing and drops it.
    torch.onnx.export(net, (torch.from_numpy(test[0]),), folder / "float.onnx", input_names=["data"], output_names=["logits"],
                      dynamo=True, optimize=False, external_data=False, verbose=False)
    torch.save(net, saved)
    return net


def in_blocks(module, multiple):
    """Formats in blocks are for these layers alone, so that all tools quantize the same ones."""
    return isinstance(module, nn.Linear) and module.in_features % multiple == 0


def modelopt_recipes():
    import modelopt.torch.quantization as mtq

    names = {"int8": ["INT8_DEFAULT_CFG", "INT8_SMOOTHQUANT_CFG"], "fp8": ["FP8_DEFAULT_CFG"],
             "nvfp4": ["NVFP4_DEFAULT_CFG", "NVFP4_AWQ_LITE_CFG"], "mxfp8": ["MXFP8_DEFAULT_CFG"],
             "int4": ["INT4_BLOCKWISE_WEIGHT_ONLY_CFG", "INT4_AWQ_CFG"]}

    def recipe(name):
        def quantize(net, run):
            config = copy.deepcopy(getattr(mtq, name))
            kept = [path for path, module in net.named_modules() if isinstance(module, (nn.LayerNorm, nn.RMSNorm)) or
                    name.startswith("INT4") and isinstance(module, (nn.Linear, nn.Conv2d)) and not in_blocks(module, 32)]
            config["quant_cfg"] += [{"quantizer_name": f"{path}.*", "enable": False} for path in kept]
            mtq.quantize(net, config, run)
            return sorted(path.removesuffix(".weight_quantizer") for path, module in net.named_modules()
                          if path.endswith(".weight_quantizer") and module.is_enabled)
        return quantize

    from modelopt.torch.quantization.qtensor import MXFP8QTensor, NVFP4QTensor

    def nvfp4(x, largest):
        stored, scales, scale = NVFP4QTensor.quantize(x, 16, weights_scaling_factor_2=largest / (6 * 448))
        return stored.dequantize(x.dtype, scale=scales, double_scale=scale, block_sizes={-1: 16})

    def mxfp8(x, _):
        stored, scales = MXFP8QTensor.quantize(x)
        return stored.dequantize(x.dtype, scale=scales, block_sizes={-1: 32})

    return [*(("modelopt", form, name.removesuffix("_CFG").lower(), recipe(name)) for form, all_ in names.items() for name in all_),
            ("modelopt", "nvfp4", "nvfp4_tensors", rounded_by(nvfp4, 16)), ("modelopt", "mxfp8", "mxfp8_tensors", rounded_by(mxfp8, 32))]


class Rounded(nn.Module):
    """A Linear whose inputs and weights are rounded by `how(values, largest magnitude)`; of inputs the largest while calibrating."""

    def __init__(self, linear, how):
        super().__init__()
        self.how, self.bias, self.calibrating = how, linear.bias, True
        self.weight = how(linear.weight.detach(), linear.weight.detach().abs().max())
        self.largest = torch.zeros(())

    def forward(self, x):
        if self.calibrating:
            self.largest = torch.maximum(self.largest, x.abs().max())
            return functional.linear(x, self.weight, self.bias)
        return functional.linear(self.how(x, self.largest), self.weight, self.bias)


def rounded_by(how, multiple):
    """What a tool's tensors of the format give, where its own way needs a GPU."""
    def quantize(net, run):
        linears = {path: module for path, module in net.named_modules() if in_blocks(module, multiple)}
        for path, module in linears.items():
            net.set_submodule(path, Rounded(module, how))
        run(net)
        for path in linears:
            net.get_submodule(path).calibrating = False
        return list(linears)
    return quantize


def torchao_recipes():
    import torchao.prototype.mx_formats as mx
    import torchao.quantization as ao
    from torchao.quantization.quantize_.common import KernelPreference

    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale

    def intx(**more):
        def config(width):
            group = max(size for size in range(1, 129) if width % size == 0)
            return ao.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=ao.PerGroup(group), **more)
        return config

    def nvfp4(x, _):
        return NVFP4Tensor.to_nvfp4(x, per_tensor_scale=per_tensor_amax_to_scale(x.abs().max())).dequantize()

    def mxfp8(x, _):
        return MXTensor.to_mx(x, e4m3, 32).dequantize()

    e4m3 = torch.float8_e4m3fn
    # What it makes of a number of inputs, and what that has to be a multiple of.
    configs = {
        ("int8", "int8_dynamic_activation"): (lambda _: ao.Int8DynamicActivationInt8WeightConfig(), 1),
        ("fp8", "float8_dynamic_activation"): (lambda _: ao.Float8DynamicActivationFloat8WeightConfig(), 1),
        ("fp8", "float8_weight_only"): (lambda _: ao.Float8WeightOnlyConfig(), 1),
        ("nvfp4", "nvfp4_dynamic_activation"): (lambda _: mx.NVFP4DynamicActivationNVFP4WeightConfig(use_triton_kernel=False), 16),
        ("mxfp8", "mx_dynamic_activation"): (lambda _: mx.MXDynamicActivationMXWeightConfig(
            activation_dtype=e4m3, weight_dtype=e4m3, kernel_preference=KernelPreference.EMULATED), 32),
        ("int4", "intx_weight_only"): (intx(), 32),
        ("int4", "intx_weight_only_hqq"): (intx(intx_choose_qparams_algorithm="hqq_scale_only"), 32),
    }

    def recipe(config, multiple):
        def quantize(net, run):
            done = []
            for path, module in net.named_modules():
                if in_blocks(module, multiple):
                    ao.quantize_(net, config(module.in_features), filter_fn=lambda _, name, path=path: name == path)
                    done.append(path)
            run(net)
            return done
        return quantize

    return [*(("torchao", form, name, recipe(*how)) for (form, name), how in configs.items()),
            ("torchao", "nvfp4", "nvfp4_tensors", rounded_by(nvfp4, 16)), ("torchao", "mxfp8", "mxfp8_tensors", rounded_by(mxfp8, 32))]


def outputs(net, samples, batch=64):
    with torch.no_grad():
        parts = torch.from_numpy(samples).flatten(0, 1).split(batch)
        return torch.cat([net(part) for part in parts]).float().numpy()


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def quantized(net, folder):
    calibration, test = (np.load(folder / f"{part}.npy") for part in ("calibration", "test"))
    np.save(folder / "torch.npy", outputs(net, test))
    for tool, form, name, recipe in [*modelopt_recipes(), *torchao_recipes()]:
        low, before = copy.deepcopy(net), processor_seconds()
        row = {"tool": tool, "format": form, "recipe": name}
        try:
            row["layers"] = recipe(low, lambda model: outputs(model, calibration))
            row["cpu_seconds"] = round(processor_seconds() - before, 2)
            np.save(folder / f"{tool}-{name}.npy", outputs(low, test, 1 if form == "nvfp4" else 64))  # its scales are a batch's
        except Exception as error:  # what a tool refuses is a result
            row["refused"] = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        print("RESULT " + json.dumps(row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(THREADS)
    net = made(options.network, options.folder)
    print("VERSIONS " + json.dumps({name: importlib.metadata.version(name) for name in ("torch", "nvidia-modelopt", "torchao")}))
    if options.peers:
        quantized(net, options.folder)


if __name__ == "__main__":
    main()
