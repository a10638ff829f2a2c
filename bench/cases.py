"""The searches that are measured, each with what is promised of it. A case without a promise is recorded all the same."""


def photos(name, network, options, samples=20, **promised):
    return {"name": name, "network": network, "model": f"{network}.onnx", "samples": samples, "options": options, **promised}


CASES = [
    photos("mobilenetv2 24 dB", "mobilenetv2-imagenet", ["--int8", "--min-sqnr", "24"], most_seconds=10, most_kept=13),
    photos("mobilenetv2 24 dB onnxruntime", "mobilenetv2-imagenet",
           ["--int8", "--min-sqnr", "24", "--target", "onnxruntime"]),
    photos("yolox-nano 15 dB", "yolox-nano", ["--int8", "--min-sqnr", "15"], most_seconds=20, most_kept=16),
    photos("yolox-nano 15 dB onnxruntime", "yolox-nano", ["--int8", "--min-sqnr", "15", "--target", "onnxruntime"]),
    photos("rfb320 46 dB", "rfb320-face", ["--int8", "--min-sqnr", "scores:46"]),
    photos("rfb320 50 dB", "rfb320-face", ["--int8", "--min-sqnr", "scores:50"]),
    {"name": "needs_constraints 40 dB", "model": "examples/needs_constraints/needs_constraints.onnx",
     "options": ["--fp16", "--min-sqnr", "40", "--val-range", "[1,2]"], "exactly": ["Add", "Sub"], "joined": ["Add", "Sub"]},
]
