"""torch modules. Where torch is in no Python of the tests, but $VERNIER_TORCH names one, or scripts/bootstrap --with torch
made one, that one runs them."""
import copy
import importlib.util
import os
import pathlib
import re
import runpy
import subprocess

import numpy as np
import onnx_vernier as vernier
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = importlib.util.find_spec("torch") is not None
OTHER = pathlib.Path(os.environ.get("VERNIER_TORCH") or ROOT / ".deps/torch/bin/python")
needs_torch = pytest.mark.skipif(
    not HERE, reason="run by the Python that has torch" if OTHER.exists() else
    "torch is not installed: its modules were not tried (scripts/bootstrap --with torch, or VERNIER_TORCH=python)")
if HERE:
    import torch
    from torch import nn

    EXPORTERS = ["dynamo", "torchscript"] if importlib.util.find_spec("onnxscript") else ["torchscript"]

    class Two(nn.Module):
        """Two inputs and one that is optional; a dict of outputs."""

        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, left, right, scale=None):
            product = torch.relu(self.a(left)) * self.b(right)
            if scale is not None:
                product = product * scale
            return {"sum": product.sum(-1), "product": product}

    class Tokens(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(50, 16)
            self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
            self.head = nn.Linear(16, 5)

        def forward(self, input_ids, attention_mask):
            return self.head(self.layer(self.embedding(input_ids), src_key_padding_mask=attention_mask == 0))

    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(6, 8, batch_first=True), nn.Linear(8, 3)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    class Branch(nn.Module):
        """What no exporter can follow."""

        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)

        def forward(self, x):
            return self.a(x) if x.sum() > 0 else self.a(-x)

    class OfOne(nn.Module):
        """Takes one sample at a time."""

        def __init__(self):
            super().__init__()
            self.a = nn.Linear(12, 4)

        def forward(self, x):
            return self.a(x.reshape(1, 12))
else:
    EXPORTERS = ["dynamo"]


@pytest.mark.skipif(HERE or not OTHER.exists(), reason="torch is here" if HERE else "no Python with torch")
def test_in_the_python_that_has_torch():
    done = subprocess.run([OTHER, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", __file__], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(pathlib.Path(vernier.__file__).parents[1])})
    assert done.returncode == 0 and re.search(r"\d+ passed", done.stdout), done.stdout + done.stderr
    print(done.stdout)


@pytest.fixture(autouse=True)
def same_numbers(request):
    if HERE:
        torch.manual_seed(0)
        torch.set_num_threads(1)  # other tests run beside these


def classifier():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10))


def computed(module, sample):
    """What torch makes of one sample, as a flat list of arrays."""
    flat = []

    def walk(value):
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ():
            walk(each)
        if isinstance(value, torch.Tensor):
            flat.append(value.float().numpy())

    with torch.no_grad():
        module.eval().float()
        inputs = {name: each for name, each in sample.items()} if isinstance(sample, dict) else [each.float() for each in sample]
        walk(module(**inputs) if isinstance(sample, dict) else module(*inputs))
    return flat


def tokens(count):
    return [{"input_ids": torch.randint(0, 50, (1, 7)), "attention_mask": torch.tensor([[1] * 5 + [0] * 2])} for _ in range(count)]


def numbers(*shape, count=6):
    return [(torch.randn(*shape),) for _ in range(count)]


CASES = {
    "a classifier with BatchNorm": lambda: (classifier(), torch.randn(1, 3, 8, 8), numbers(1, 3, 8, 8)),
    "batches": lambda: (classifier(), torch.randn(1, 3, 8, 8), numbers(4, 3, 8, 8)),
    "two inputs": lambda: (Two(), (torch.randn(1, 8), torch.randn(1, 8)), [(torch.randn(2, 8), torch.randn(2, 8)) for _ in range(6)]),
    "inputs by name": lambda: (Two(), {"right": torch.randn(1, 8), "left": torch.randn(1, 8)},
                               [{"left": torch.randn(1, 8), "right": torch.randn(1, 8)} for _ in range(6)]),
    "a NumPy example": lambda: (classifier(), np.zeros((1, 3, 8, 8), np.float32), numbers(1, 3, 8, 8)),
    "tokens": lambda: (Tokens(), (torch.randint(0, 50, (1, 7)), torch.ones(1, 7, dtype=torch.long)), tokens(6)),
    "an LSTM": lambda: (Last(), torch.randn(1, 5, 6), numbers(1, 5, 6)),
    "a GRU with states": lambda: (nn.Sequential(nn.Linear(6, 6), nn.GRU(6, 8)), torch.randn(5, 1, 6), numbers(5, 1, 6)),
    "one sample at a time": lambda: (OfOne(), torch.randn(1, 3, 4), numbers(1, 3, 4)),
    "bfloat16": lambda: (nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).bfloat16(), torch.randn(1, 8).bfloat16(),
                         [(torch.randn(1, 8).bfloat16(),) for _ in range(6)]),
    "float16": lambda: (nn.Linear(8, 4).half(), torch.randn(1, 8).half(), [(torch.randn(1, 8),) for _ in range(6)]),
}


@needs_torch
@pytest.mark.filterwarnings("ignore:Exporting a model to ONNX with a batch_size other than 1", "ignore::onnx_vernier.VernierWarning",
                            "ignore::torch.jit.TracerWarning" if HERE else "ignore::UserWarning")
@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("case", CASES)
def test_diagnose_fix_and_verify(case, exporter):
    module, example, samples = CASES[case]()
    types = {each.dtype for each in module.parameters()}
    model = vernier.Model(module, example_inputs=example, exporter=exporter)
    assert {each.dtype for each in module.parameters()} == types
    report = vernier.diagnose(model, samples, low="int8", min_sqnr=15)
    fixed = vernier.fix(model, samples, low="int8", min_sqnr=15)
    assert report.samples == len(samples) and report.passed and fixed.passed
    assert vernier.verify(model, fixed.model, samples, min_sqnr=15).figures.passed
    ours, theirs = vernier.run(model, samples)[-1], computed(module, samples[-1])
    assert len(ours) == len(theirs)
    for one, other in zip(ours.values(), theirs):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)  # kernels add in another order


@needs_torch
@pytest.mark.parametrize("exporter", EXPORTERS)
def test_layers_and_tensors_have_the_names_of_the_module(exporter):
    model = vernier.Model(Two(), example_inputs=(torch.zeros(1, 8), torch.zeros(1, 8)), exporter=exporter).to_onnx()
    assert [each.name for each in model.graph.input] == ["left", "right"]
    assert [each.name for each in model.graph.output] == ["sum", "product"]
    names = [node.name.lstrip("/") for node in model.graph.node]
    assert {"a/Gemm", "b/Gemm", "Relu", "Mul"} <= set(names)
    model = vernier.Model(classifier(), example_inputs=torch.zeros(1, 3, 8, 8), exporter=exporter).to_onnx()
    assert [each.name for each in model.graph.output] == ["output"]
    assert "0/Conv" in [node.name.lstrip("/") for node in model.graph.node]
    assert str(pathlib.Path(torch.__file__).parent) not in str(model), "the model tells where it was made"


@needs_torch
@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("low", ["int8", "float8e4m3fn"])
def test_modelopt_takes_the_configuration_for_training(low, exporter, tmp_path):
    """Its quantizers are those of the plan, and what it computes with them is as far from float as Vernier says."""
    mtq = pytest.importorskip("modelopt.torch.quantization", reason="nvidia-modelopt is not installed: it did not take qat.py")
    module, samples = classifier().eval(), numbers(1, 3, 8, 8)
    model = vernier.Model(module, example_inputs=torch.randn(1, 3, 8, 8), exporter=exporter)
    reference = [module(*sample).detach() for sample in samples]
    excluded = []
    for expected in (["0", "4"], ["0"]):
        report = vernier.fix(model, samples, low=low, excluded_nodes=excluded, allow=["range"], qat=tmp_path)
        excluded = [layer.name for layer in report.layers if layer.op_type == "Gemm"]
        quantized = copy.deepcopy(module)
        mtq.quantize(quantized, runpy.run_path(str(tmp_path / "qat.py"))["CONFIG"], lambda net: [net(*each) for each in samples])
        on = {name for name, part in quantized.named_modules() if name.endswith("_quantizer") and part.is_enabled}
        assert on == {f"{name}.{kind}_quantizer" for name in expected for kind in ("weight", "input")}
        signal = sum(float((each ** 2).sum()) for each in reference)
        noise = sum(float(((quantized(*sample).detach() - each) ** 2).sum()) for sample, each in zip(samples, reference))
        figures = getattr(report, "repaired", report.all_low)
        assert abs(10 * np.log10(signal / noise) - figures.outputs[0].sqnr_db) < 1, figures
        quantized(*samples[0]).sum().backward()
        assert quantized[0].weight.grad is not None


@needs_torch
def test_a_loader_of_batches():
    images, labels = torch.randn(10, 3, 8, 8), torch.randint(0, 10, (10,))
    dataset = torch.utils.data.TensorDataset(images, labels)
    model = vernier.Model(classifier(), example_inputs=images[:1])
    reports = []
    for batch in (1, 4):
        loader = torch.utils.data.DataLoader(dataset, batch_size=batch)
        assert vernier.diagnose(model, loader, low="int8").samples == -(-10 // batch)
        reports.append(vernier.diagnose(model, loader, low="int8", split_batch=True, labels=labels, min_top1=0))
        reports.append(vernier.diagnose(model, ({"input": each} for each, _ in loader), low="int8", split_batch=True))
    assert {report.samples for report in reports} == {10}
    assert len({report.data_sha256 for report in reports}) == 1
    assert vernier.diagnose(model, images, low="int8", split_batch=True).data_sha256 == reports[0].data_sha256


@needs_torch
def test_the_module_is_left_as_it_was():
    module = classifier().train()
    module[1].eval()  # frozen, as in fine tuning
    module[1].running_mean += 3
    state = {name: value.clone() for name, value in module.state_dict().items()}
    vernier.Model(module, example_inputs=torch.randn(1, 3, 8, 8))
    assert module.training and module[0].training and not module[1].training
    assert all(torch.equal(value, state[name]) for name, value in module.state_dict().items())
    assert torch.backends.mha.get_fastpath_enabled()
    assert all(each.requires_grad for each in module.parameters())


@needs_torch
@pytest.mark.skipif("dynamo" not in EXPORTERS, reason="onnxscript is not installed: torch.export was not tried")
def test_what_torch_export_refuses_is_traced():
    with pytest.warns(vernier.VernierWarning, match="Branch .* traced instead"), pytest.warns(torch.jit.TracerWarning):
        vernier.Model(Branch(), example_inputs=torch.ones(1, 8))
    with pytest.raises(vernier.InputError, match="could not export Branch: dynamo: ") as raised:
        vernier.Model(Branch(), example_inputs=torch.ones(1, 8), exporter="dynamo")
    assert "\x1b" not in str(raised.value) and len(str(raised.value)) < 500


@needs_torch
def test_a_first_dimension_that_is_not_open():
    def dimensions(module, example, **options):
        model = vernier.Model(module, example_inputs=example, **options).to_onnx()
        return [each.type.tensor_type.shape.dim[0].dim_value for each in model.graph.input]

    assert dimensions(classifier(), torch.zeros(1, 3, 8, 8)) == [0]
    assert dimensions(classifier(), torch.zeros(2, 3, 8, 8)) == [0]
    assert dimensions(classifier(), torch.zeros(1, 3, 8, 8), dynamic_batch=False) == [1]
    assert dimensions(OfOne(), torch.zeros(1, 3, 4)) == [1]
    states = (torch.zeros(1, 2, 8), torch.zeros(1, 2, 8))
    assert dimensions(nn.LSTM(6, 8), (torch.zeros(5, 2, 6), states)) == [5, 1, 1]


@needs_torch
def test_errors_say_what_is_missing(monkeypatch):
    with pytest.raises(vernier.UsageError, match=r"Sequential: a torch module needs example_inputs .*Model\(module, example_inputs=x\)"):
        vernier.diagnose(classifier(), numbers(1, 3, 8, 8))
    with pytest.raises(vernier.UsageError, match=r"forward has no argument 'image' \(hint: it has input\)"):
        vernier.Model(classifier(), example_inputs={"image": torch.zeros(1, 3, 8, 8)})
    with pytest.raises(vernier.UsageError, match="is not one of dynamo, torchscript"):
        vernier.Model(classifier(), example_inputs=torch.zeros(1, 3, 8, 8), exporter="onnx")
    with pytest.raises(RuntimeError, match="channels"):  # what the module itself says of its inputs
        vernier.Model(classifier(), example_inputs=torch.zeros(1, 4, 8, 8))
    with pytest.raises(vernier.UsageError, match="example_inputs belong to a torch module"):
        vernier.Model(b"", example_inputs=torch.zeros(1))
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in ("onnx", "onnxscript") else there(name))
    with pytest.raises(vernier.UsageError, match=r"needs onnx and onnxscript, which are not installed \(hint: pip install onnx onnxscript\)"):
        vernier.Model(classifier(), example_inputs=torch.zeros(1, 3, 8, 8), exporter="dynamo")
    assert vernier.Model(classifier(), example_inputs=torch.zeros(1, 3, 8, 8)).in_memory
    with pytest.raises(vernier.InputError, match="pip install onnx onnxscript"):
        vernier.Model(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), example_inputs=torch.zeros(1, 7, 16))


@needs_torch
def test_a_compiled_module_and_a_program_of_torchs_exporter():
    module, example = classifier().eval(), torch.zeros(1, 3, 8, 8)
    plain = vernier.Model(module, example_inputs=example)
    compiled = vernier.Model(torch.compile(module), example_inputs=example)
    assert [node.name for node in compiled.to_onnx().graph.node] == [node.name for node in plain.to_onnx().graph.node]
    if "dynamo" in EXPORTERS:
        program = torch.onnx.export(module, (example,), dynamo=True, verbose=False)
        report = vernier.diagnose(program, numbers(1, 3, 8, 8), low="int8")
        assert report.all_low.outputs[0].sqnr_db > 20


@needs_torch
@pytest.mark.parametrize("network", ["mobilenet_v2", "resnet18"])
def test_networks_of_torchvision(network):
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed: its networks were not tried")
    import torchvision

    module = getattr(torchvision.models, network)(weights=None)
    samples = numbers(1, 3, 32, 32, count=2)
    model = vernier.Model(module, example_inputs=samples[0])
    report = vernier.diagnose(model, samples, low="int8", min_sqnr=15)
    assert report.passed and vernier.verify(model, report.model, samples, min_sqnr=15).figures.passed
    np.testing.assert_allclose(vernier.run(model, samples, limit=1)[0]["output"], computed(module, samples[0])[0], rtol=1e-3, atol=1e-3)


@needs_torch
def test_the_tutorial_prints_what_it_shows(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/tutorials/torch.md").read_text()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    names = {}
    for block in (block for language, block in blocks if language == "python"):
        exec(compile(block, "docs/tutorials/torch.md", "exec"), names)
    printed = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("[torch.onnx]")]
    assert printed == "".join(block for language, block in blocks if not language).splitlines()
    assert (tmp_path / "typed.onnx").is_file() and (tmp_path / "report.html").is_file()
