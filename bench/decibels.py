"""Measures what decibels meant for tasks, and writes docs/guides/decibels.md.

    python bench/decibels.py [--program build/release/apps/vernier/vernier] [--only NETWORK ...] [--formats FORMAT ...] [--render]

Each shared network that has labels, or an output from which they follow, is written in every format of FORMATS. `vernier verify` gives the
SQNR and the same top-1 of the file, `vernier eval` the figure of the task. Ranges are learned, and repairs chosen, on other samples than
those that are judged. Results are merged into bench/results/decibels.json network by network, so that a part can be measured again;
"layers kept" asks for MORE than INT8 gives there. --render writes the page without measuring. VERNIER_SHARED names the shared folder.
Needs numpy, Pillow and onnxruntime.

The shared photographs for detectors have no boxes: what the float network itself finds with a score of at least SURE is taken for the truth.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

from networks import ROOT, SHARED, model_file, samples_of, save, session_of
from paragraph import filled
from processor import processor

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

RESULTS = ROOT / "bench/results/decibels.json"
PAGE = ROOT / "docs/guides/decibels.md"

FORMATS = {
    "INT8, one step a weight": ["diagnose", "--int8", "--per-tensor", "--no-latency"],
    "INT8": ["convert", "--int8"],
    "INT8, ONNX Runtime's rules": ["convert", "--int8", "--target", "onnxruntime"],
    "INT8, repaired": ["fix", "--int8"],
    "INT8, layers kept": ["diagnose", "--int8", "--no-latency", "--min-sqnr", "MORE"],
    "FP8": ["convert", "--fp8"],
    "BF16": ["convert", "--bf16"],
    "FP16": ["convert", "--fp16"],
}
BANDS = [-np.inf, 10, 15, 20, 30, 40, np.inf]
MORE = 6  # dB
SURE = 0.5
OVERLAP = 0.65  # boxes of a class that overlap by more are one: what `vernier eval` does too


def slices(network, calibrate, judge):
    """Samples to learn ranges from, and others to judge on: slices of all that there are."""
    samples = samples_of(network, max(calibrate.stop, judge.stop))
    return samples[calibrate], samples[judge]


def imagenet_labels(first):
    """Of the photographs in the order of their files, which is that of the samples; `first` is the number of class 0."""
    with open(SHARED / "data/imagenet_labels.csv", encoding="utf-8") as file:
        rows = sorted((row["file"], int(row["class_index_0_999"])) for row in csv.DictReader(file))
    assert [name for name, _ in rows] == sorted(path.name for path in (SHARED / "data/imagenet").iterdir())
    return np.array([label + first for _, label in rows])


def cifar_labels(judge):
    return np.load(SHARED / "data/cifar10/labels.npy")[judge]


def yolox_boxes(network, sample, size=416):
    values = session_of(network).run(None, {"images": sample})[0][0].astype(np.float64)
    cells = [(x, y, stride) for stride in (8, 16, 32) for y in range(size // stride) for x in range(size // stride)]
    x, y, stride = np.array(cells, float).T
    centre = np.stack([(values[:, 0] + x) * stride, (values[:, 1] + y) * stride], axis=1)
    half = np.exp(values[:, 2:4]) * stride[:, None] / 2
    category = values[:, 5:].argmax(axis=1)
    return np.concatenate([centre - half, centre + half], axis=1), values[:, 4] * values[:, 5:].max(axis=1), category


def face_boxes(network, sample):
    scores, boxes = session_of(network).run(["scores", "boxes"], {"input": sample})
    return boxes[0].astype(np.float64) * [320, 240, 320, 240], scores[0, :, 1], np.zeros(len(scores[0]), int)


def overlap(box, others):
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.clip(high - low, 0, None).prod(axis=1)
    return common / ((box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(axis=1) - common)


def found(boxes, scores, categories):
    """Corners and class of what is surely there, each once."""
    rest = [i for i in np.argsort(-scores, kind="stable") if scores[i] >= SURE]
    while rest:
        best, rest = rest[0], rest[1:]
        yield boxes[best], int(categories[best])
        rest = [i for i in rest if categories[i] != categories[best] or overlap(boxes[best], boxes[[i]])[0] <= OVERLAP]


def own_boxes(network, samples, boxes_of, width, height, classes):
    """COCO's annotations of what the float network finds. The images have the size of the network's input."""
    annotations = []
    for image, sample in enumerate(samples):
        for (x1, y1, x2, y2), category in found(*boxes_of(network, sample)):
            annotations.append({"id": len(annotations) + 1, "image_id": image, "category_id": category, "iscrowd": 0,
                                "bbox": [x1, y1, x2 - x1, y2 - y1], "area": (x2 - x1) * (y2 - y1)})
    return {"images": [{"id": i, "width": width, "height": height} for i in range(len(samples))], "annotations": annotations,
            "categories": [{"id": i} for i in range(classes)]}


# Task, figure, samples to calibrate and to judge on, labels of the judged ones, options of eval.
NETWORKS = {
    "mobilenetv2-imagenet": ("classification", "top-1", slice(100, 130), slice(0, 100), lambda s: imagenet_labels(1), []),
    "squeezenet-imagenet": ("classification", "top-1", slice(100, 130), slice(0, 100), lambda s: imagenet_labels(0), []),
    "resnet8-cifar": ("classification", "top-1", slice(0, 30), slice(30, 130), lambda s: cifar_labels(slice(30, 130)), []),
    "vit-cifar": ("classification", "top-1", slice(0, 30), slice(30, 130), lambda s: cifar_labels(slice(30, 130)), []),
    "stories260k": ("language", "perplexity", slice(0, 16), slice(16, 64), None, []),
    "yolox-nano": ("detection", "mAP", slice(0, 30), slice(100, 130),
                   lambda s: own_boxes("yolox-nano", s, yolox_boxes, 416, 416, 80), []),
    "rfb320-face": ("detection", "mAP", slice(0, 30), slice(100, 130), lambda s: own_boxes("rfb320-face", s, face_boxes, 320, 240, 1),
                    ["--boxes", "plain", "--outputs", "boxes", "scores", "--box-units", "unit", "--fit", "stretch", "--background-classes", "1"]),
}


def vernier(program, *arguments):
    done = subprocess.run([program, *map(str, arguments), "-q"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def written(program, words, network, calibration, folder):
    """The typed file of a format."""
    command, *options = words
    target = folder / "out"
    target.mkdir()
    vernier(program, command, model_file(network), "--data", calibration, *options, "-o", target / "model.onnx" if command == "convert" else target)
    return target / "model.onnx"


def finite(value):
    return round(float(value), 4) if isinstance(value, (int, float)) else value


def measured(program, network, formats, known, folder):
    task, figure, calibrate, judge, labels_of, options = NETWORKS[network]
    learned, judged = slices(network, calibrate, judge)
    calibration = save(folder / "calibration", network, learned)
    data = save(folder / "data", network, judged)
    if labels_of:
        labels = labels_of(judged)
        path = folder / ("labels.json" if isinstance(labels, dict) else "labels.npy")
        path.write_text(json.dumps(labels)) if isinstance(labels, dict) else np.save(path, labels)
        options = [*options, "--labels", path]
    row = {"task": task, "figure": figure, "calibrated_on": len(learned), "samples": len(judged), "formats": known}
    if task == "detection":
        row["true_boxes"] = len(labels["annotations"])
    for name in formats:
        words = [f"{row['formats']['INT8']['sqnr_db'] + MORE:.1f}" if word == "MORE" else word for word in FORMATS[name]]
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            file = written(program, words, network, calibration, pathlib.Path(scratch))
            verified = json.loads(vernier(program, "verify", model_file(network), file, "--data", data, "--json"))
            scored = json.loads(vernier(program, "eval", file, "--task", task, "--data", data, "--against", model_file(network), *options, "--json"))
        outputs = verified["figures"]["outputs"]
        worst = min(outputs, key=lambda o: o["sqnr_db"] if isinstance(o["sqnr_db"], (int, float)) else np.inf)
        agreements = [o["top1_agreement"] for o in outputs if o.get("top1_agreement") is not None]
        row["formats"][name] = {"sqnr_db": finite(worst["sqnr_db"]), "top1_agreement": finite(min(agreements)) if agreements and task != "detection" else None,
                                "figure": finite(scored["models"][0]["figures"][figure])}
        row["float"] = finite(scored["models"][1]["figures"][figure])
        row["onnxruntime"], row["vernier"] = verified["onnxruntime_version"], verified["vernier_version"]
        print(network, name, row["formats"][name], row["float"], flush=True)
    return row


def machine():
    model = processor()
    return f"{model}, {len(os.sched_getaffinity(0))} usable cores"


def rows_of(record):
    """(network's row, format, file's row) of all files in which something is quantized."""
    for network in NETWORKS:
        row = record["networks"].get(network, {"formats": {}})
        for name, file in row["formats"].items():
            if isinstance(file["sqnr_db"], (int, float)):
                yield row, name, file


def span(values, text, unit=""):
    """Smallest and largest; one number where they read the same; a dash where there are none."""
    ends = [text(value) for value in (min(values), max(values))] if values else ["-"]
    return ends[0] + unit * bool(values) if ends[0] == ends[-1] else f"{ends[0]} to {ends[-1]}{unit}"


def percent(share):
    return f"{100 * share:.1f}".removesuffix(".0")


def signed(value, digits=0):
    text = f"{value:+.{digits}f}"
    return text if text.strip("+-0.") else text[1:]


def band_table(record):
    lines = ["| SQNR | files | top-1 agreement | top-1 by labels, points | mAP | perplexity |", "|---|---:|---:|---:|---:|---:|"]
    for low, high in zip(BANDS, BANDS[1:]):
        inside = [(row, file) for row, _, file in rows_of(record) if low <= file["sqnr_db"] < high]
        if not inside:
            continue
        name = f"below {high:.0f} dB" if low == -np.inf else f"from {low:.0f} dB" if high == np.inf else f"{low:.0f} to {high:.0f} dB"
        agreements = [file["top1_agreement"] for _, file in inside if file["top1_agreement"] is not None]
        lost = [100 * (file["figure"] - row["float"]) for row, file in inside if row["figure"] == "top-1"]
        found_again = [file["figure"] for row, file in inside if row["figure"] == "mAP"]
        perplexity = [100 * (file["figure"] / row["float"] - 1) for row, file in inside if row["figure"] == "perplexity"]
        lines.append(f"| {name} | {len(inside)} | {span(agreements, percent, ' %')} | {span(lost, signed)} | {span(found_again, percent, ' %')} | "
                     f"{span(perplexity, lambda v: signed(v, 1), ' %')} |")
    return lines


def network_table(record):
    lines = ["| network | file | SQNR, dB | top-1 agreement | figure | FP32 |", "|---|---|---:|---:|---:|---:|"]
    for network in NETWORKS:
        row = record["networks"].get(network)
        if not row:
            continue
        words = (lambda v: f"{v:.3f}") if row["figure"] == "perplexity" else lambda v: percent(v) + " %"
        for name, file in sorted(row["formats"].items(), key=lambda item: float(item[1]["sqnr_db"])):
            number = isinstance(file["sqnr_db"], (int, float))
            agreement = "-" if file["top1_agreement"] is None else percent(file["top1_agreement"]) + " %"
            lines.append(f"| {network} | {name} | {format(file['sqnr_db'], '.1f') if number else 'nothing quantized'} | {agreement} | "
                         f"{row['figure']} {words(file['figure'])} | {words(row['float'])} |")
    return lines


def page(record):
    networks = record["networks"]
    versions = sorted({f"Vernier {row['vernier']}, ONNX Runtime {row['onnxruntime']}" for row in networks.values()})
    counts = "; ".join(f"{network} {row['samples']}" + (f" ({row['true_boxes']} boxes)" if "true_boxes" in row else "")
                       for network, row in networks.items())
    agreeing = [(row, file) for row, _, file in rows_of(record) if file["top1_agreement"] is not None and row["figure"] == "top-1"]
    high = [file["top1_agreement"] for _, file in agreeing if file["sqnr_db"] >= 30]
    middle = [file["top1_agreement"] for _, file in agreeing if 15 <= file["sqnr_db"] < 30]
    yolox = sorted((file["sqnr_db"], file["figure"]) for file in networks["yolox-nano"]["formats"].values())
    faces = networks["rfb320-face"]["formats"]
    mobile = networks["mobilenetv2-imagenet"]
    plain, repaired = mobile["formats"]["INT8"], mobile["formats"]["INT8, repaired"]
    return "\n".join([
        "# What a dB means", "",
        filled("For engineers who choose a requirement: what SQNR meant for top-1, mAP and perplexity, on the shared networks with labels."), "",
        filled("SQNR, the signal-to-quantization-noise ratio, measures how far an output moved: 10 log10(sum ref² / sum (ref - got)²), "
               "summed over the elements of all samples. At 20 dB the error is a tenth of the signal, at 40 dB a hundredth. Every 6 dB more "
               "halves it, which is one bit. SQNR needs no labels, and knows nothing of the task."), "",
        *band_table(record), "",
        filled(f"**Classifiers**: from 30 dB on, {percent(min(high))} % of the samples or more keep the class of FP32. Between 15 and 30 dB "
               f"it is {percent(min(middle))} to {percent(max(middle))} %. How sure the network is of its classes decides, and dB do not "
               "show that."), "",
        "**Detectors**: yolox-nano finds the boxes of FP32 with an mAP of:", "",
        *("| " + " | ".join(cells) + " |" for cells in (
            ["SQNR, dB", *(f"{db:.1f}" for db, _ in yolox)], ["---", *["---:"] * len(yolox)],
            ["mAP, %", *(percent(figure) for _, figure in yolox)])), "",
        filled("These figures are of the whole output. A requirement applies to [each part](../outputs.md), boxes and scores, and the "
               "worst part decides. So a limit from this table is stricter than it looks."), "",
        filled(f"**The format** counts as much as the dB. rfb320-face in BF16 has {faces['BF16']['sqnr_db']:.0f} dB and an mAP of "
               f"{percent(faces['BF16']['figure'])} %, in INT8 {faces['INT8']['sqnr_db']:.0f} dB and {percent(faces['INT8']['figure'])} %. "
               "INT8 leaves the arithmetic of boxes in FP32, BF16 does not. Corners are parts of the image, and BF16 resolves 1.25 pixels in "
               "its right half."), "",
        filled("Use SQNR to compare layers, and files of one network in one format. If you have labels, let the task decide: "
               "[`vernier eval`](tasks.md), or `--min-top1-agreement` without labels. More dB may go with fewer right answers: "
               f"mobilenetv2-imagenet has {plain['sqnr_db']:.1f} dB and {percent(plain['figure'])} % top-1 in INT8, and "
               f"{repaired['sqnr_db']:.1f} dB and {percent(repaired['figure'])} % repaired. Two images of 100 are chance."), "",
        "## Each file", "",
        filled(f"Made by `bench/decibels.py` from [bench/results/decibels.json](../../bench/results/decibels.json). {record['date']}, "
               f"{record['machine']}; {'; '.join(versions)}."), "",
        "- *top-1 agreement*: the share of samples, or tokens, with the largest output at the place of FP32.",
        "- *one step a weight*: `--per-tensor`. *repaired*: `fix`, without a requirement.",
        filled(f"- *layers kept*: `diagnose` with a requirement {MORE} dB above INT8 on the held-out set."),
        filled(f"- Held-out set: {counts}."),
        filled("- Other samples calibrate and choose repairs and kept layers (16 of stories260k, 30 elsewhere). One of 100 images is a point "
               "of top-1."),
        filled("- mAP: the photographs have no true boxes. The boxes that the FP32 network finds with a score of 0.5 or more replace them. Of "
               "two outputs the worse SQNR counts."),
        filled("- squeezenet-imagenet and resnet8-cifar end in a Softmax: their dB are those of probabilities, in which a few undecided samples "
               "hold most of the error."),
        filled("- The photographs of ImageNet are probably of its training set: look at the difference to FP32, not at top-1 itself."), "",
        *network_table(record), ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/apps/vernier/vernier")
    parser.add_argument("--only", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--formats", nargs="+", choices=list(FORMATS), default=list(FORMATS))
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    record = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"networks": {}}
    if not options.render:
        record["date"], record["machine"] = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"), machine()
        for network in options.only:
            with tempfile.TemporaryDirectory() as folder:
                known = record["networks"].get(network, {}).get("formats", {})
                record["networks"][network] = measured(options.program.resolve(), network, options.formats, known, pathlib.Path(folder))
            RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")


if __name__ == "__main__":
    main()
