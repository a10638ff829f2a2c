"""Inputs of the 13 shared networks, ready for --data:  python bench/networks.py OUT [N] [NETWORK ...]

Writes OUT/NETWORK.npy, or OUT/NETWORK.npz where a network has several inputs or samples of different shapes, N samples each
(default 8, fewer where the shared data ends). `data_file(OUT, NETWORK)` and `CARRIES` say how to hand them over:

    vernier diagnose MODEL --int8 --data OUT/silero-vad-16k.npz --carry stateN:state

Photographs, text lines and tokens are made by the shared tools/inputs.py. The networks with a state read the shared recordings in
consecutive frames, and their state inputs are what the float network itself carries from frame to frame, zeros at first: a file
is right with --carry, which reads only the first state, and without, where every frame stands for itself.

VERNIER_SHARED names the folder with models/, data/ and tools/. Needs numpy and Pillow; onnxruntime for the networks with a state.
"""
import importlib.util
import os
import pathlib
import sys
import wave

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHARED = pathlib.Path(os.environ.get("VERNIER_SHARED", ROOT.parent / "shared"))

# Outputs that are fed back as inputs of the next sample.
CARRIES = {
    "dtln-part1": ["tf_op_layer_stack_2:input_3"],
    "dtln-part2": ["tf_op_layer_stack_5:input_5"],
    "silero-vad-16k": ["stateN:state"],
}
# What their open dimensions are where an engine compiles them; 1 elsewhere.
COMPILED_SHAPES = {"ppocr-en-rec": "x:[1,3,32,320]", "silero-vad-16k": "input:[1,576]", "stories260k": "input_ids:[1,32]"}
STATELESS = ["espcn-superres", "mobilenetv2-imagenet", "ppocr-en-rec", "resnet8-cifar", "rfb320-face", "squeezenet-imagenet",
             "stories260k", "style-candy", "vit-cifar", "yolox-nano"]
NETWORKS = sorted(STATELESS + list(CARRIES))


def model_file(network):
    return SHARED / "models" / network / "model.onnx"


def data_file(folder, network):
    """What make() writes for a network: shapes that differ and several inputs need an archive."""
    several = network in CARRIES or network == "ppocr-en-rec"
    return pathlib.Path(folder) / (network + (".npz" if several else ".npy"))


def shared_inputs():
    """The shared tools/inputs.py as a module."""
    spec = importlib.util.spec_from_file_location("inputs", SHARED / "tools" / "inputs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def audio(name):
    """Samples of a 16-bit mono recording, -1..1."""
    with wave.open(str(SHARED / "data" / "audio" / name)) as file:
        frames = file.readframes(file.getnframes())
    return np.frombuffer(frames, np.int16).astype(np.float32) / 32768


def session_of(network):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model_file(network)), options, providers=["CPUExecutionProvider"])


def carried(network, frames, state_shape):
    """Feeds of consecutive frames with the state that the float network carries, and its first output of each."""
    session = session_of(network)
    output, state_input = CARRIES[network][0].split(":")
    first = next(o.name for o in session.get_outputs() if o.name != output)
    state = np.zeros(state_shape, np.float32)
    feeds, outputs = [], []
    for frame in frames:
        feeds.append({**frame, state_input: state})
        value, state = session.run([first, output], feeds[-1])
        outputs.append(value)
    return feeds, outputs


def dtln_blocks(n):
    """n blocks of 512 samples, 128 apart, from 0.5 s on, where speech has begun."""
    signal = audio("noisy_speech_16k.wav")
    starts = range(8000, min(8000 + 128 * n, len(signal) - 512), 128)
    return [signal[start:start + 512] for start in starts]


def dtln_part1(n):
    spectra = [np.fft.rfft(block) for block in dtln_blocks(n)]
    frames = [{"input_2": np.abs(s).astype(np.float32)[None, None]} for s in spectra]
    feeds, masks = carried("dtln-part1", frames, (1, 2, 128, 2))
    return feeds, spectra, masks


def dtln_part2(n):
    _, spectra, masks = dtln_part1(n)
    denoised = [np.fft.irfft(s * mask[0, 0]).astype(np.float32) for s, mask in zip(spectra, masks)]
    return carried("dtln-part2", [{"input_4": block[None, None]} for block in denoised], (1, 2, 128, 2))[0]


def silero(n):
    """Chunks of 512 new samples behind 64 of context, from 2 s on."""
    signal = audio("speech_16k_60s.wav")
    starts = range(32000, min(32000 + 512 * n, len(signal) - 576), 512)
    frames = [{"input": signal[start:start + 576][None], "sr": np.array(16000, np.int64)} for start in starts]
    return carried("silero-vad-16k", frames, (2, 1, 128))[0]


RECURRENT = {"dtln-part1": lambda n: dtln_part1(n)[0], "dtln-part2": dtln_part2, "silero-vad-16k": silero}


def samples_of(network, n):
    """A list of at most n samples: an array, or a dictionary of arrays by input name."""
    if network in RECURRENT:
        return RECURRENT[network](n)
    inputs = shared_inputs()
    available = {"ppocr-en-rec": 12, "stories260k": 64, "resnet8-cifar": 130, "vit-cifar": 130}
    return inputs.load(network, min(n, available.get(network, n)))


def save(folder, network, samples):
    path = data_file(folder, network)
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(samples[0], dict):
        np.savez(path, **{name: np.stack([sample[name] for sample in samples]) for name in samples[0]})
    elif path.suffix == ".npz":
        np.savez(path, **{f"sample_{i}": sample for i, sample in enumerate(samples)})
    else:
        np.save(path, np.stack(samples))
    return path


def make(folder, network, n):
    return save(folder, network, samples_of(network, n))


def main(arguments):
    if not arguments:
        sys.exit(__doc__.splitlines()[0])
    folder = arguments[0]
    n = int(arguments[1]) if len(arguments) > 1 else 8
    for network in arguments[2:] or NETWORKS:
        if network not in NETWORKS:
            sys.exit(f"no network is named '{network}', there are: {', '.join(NETWORKS)}")
        print(make(folder, network, n))


if __name__ == "__main__":
    main(sys.argv[1:])
