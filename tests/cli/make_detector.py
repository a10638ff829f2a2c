"""A detector that gives out what it is fed: boxes and scores of eight images, and their truth as COCO's annotations.

    make_detector.py FOLDER

detector.onnx has outputs boxes [N,4] and scores [N,3]; rows.onnx has rows [N,8] of box, objectness and classes; columns.onnx [7,N] of box and classes. The .npz
say the same boxes in several ways.
"""
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

SIZE, IMAGES, BOXES, CLASSES = 64, 8, 6, 3
WIDTH, HEIGHT = 128, 96  # of the images, which a letterbox halves


def network(path, outputs, rows=BOXES):
    tensors = [helper.make_tensor_value_info(f"given_{name}", TensorProto.FLOAT, [rows, columns]) for name, columns in outputs]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, columns]) for name, columns in outputs]
    nodes = [helper.make_node("Identity", [f"given_{name}"], [name]) for name, _ in outputs]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIZE, SIZE])
    graph = helper.make_graph(nodes, "detector", [image, *tensors], results)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def main(folder):
    rng = np.random.default_rng(0)
    network(folder / "detector.onnx", [("boxes", 4), ("scores", CLASSES)])
    network(folder / "rows.onnx", [("rows", 5 + CLASSES)])
    network(folder / "columns.onnx", [("columns", BOXES)], rows=4 + CLASSES)
    images = rng.random((IMAGES, 1, 3, SIZE, SIZE), dtype=np.float32)
    corner = rng.random((IMAGES, BOXES, 2)) * (WIDTH - 40, HEIGHT - 40)
    size = 8 + rng.random((IMAGES, BOXES, 2)) * (32, 16)  # wider than high
    classes = rng.integers(0, CLASSES, (IMAGES, BOXES))
    annotations = [{"id": i * BOXES + b + 1, "image_id": i, "category_id": int(classes[i, b]), "iscrowd": 0,
                    "bbox": [*corner[i, b], *size[i, b]], "area": float(np.prod(size[i, b]))}
                   for i in range(IMAGES) for b in range(BOXES)]
    truth = {"images": [{"id": i, "width": WIDTH, "height": HEIGHT} for i in range(IMAGES)],
             "categories": [{"id": c, "name": f"c{c}"} for c in range(CLASSES)], "annotations": annotations}
    (folder / "truth.json").write_text(json.dumps(truth))
    shifted = {**truth, "categories": [{"id": c, "name": f"c{c}"} for c in range(CLASSES + 1)],
               "annotations": [{**one, "category_id": one["category_id"] + 1} for one in annotations]}
    (folder / "shifted.json").write_text(json.dumps(shifted))

    scale = SIZE / max(WIDTH, HEIGHT)
    xyxy = np.concatenate([corner, corner + size], -1) * scale
    middle = np.concatenate([corner + size / 2, size], -1) * scale
    logits = np.where(np.arange(CLASSES) == classes[..., None], 4.0, -4.0) + rng.normal(0, 0.1, (IMAGES, BOXES, CLASSES))
    shares = 1 / (1 + np.exp(-logits))

    def save(name, boxes, scores):
        np.savez(folder / name, image=images, given_boxes=boxes.astype(np.float32), given_scores=scores.astype(np.float32))

    save("right.npz", xyxy, shares)
    save("turned.npz", xyxy[..., [1, 0, 3, 2]] / SIZE, shares)
    save("middle.npz", middle, shares)
    save("logits.npz", xyxy, logits - 5)  # all below 0
    save("twice.npz", xyxy, 1 / (1 + np.exp(-shares)))
    rows = np.concatenate([middle, np.ones((IMAGES, BOXES, 1)), shares], -1)
    np.savez(folder / "rows.npz", image=images, given_rows=rows.astype(np.float32))
    np.savez(folder / "columns.npz", image=images, given_columns=np.concatenate([middle, shares], -1).transpose(0, 2, 1).astype(np.float32))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
