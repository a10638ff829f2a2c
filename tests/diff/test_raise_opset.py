"""One operator each at the opset where its meaning or its form changed, raised to 13, 18, 21 and 23 and compared with the
original in ONNX Runtime, bit for bit. Finds what ONNX's version converter forgets: Upsample and Resize lose their pixel rule.
"""
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_prepare import EVALUATE, PROGRAM, run

RANDOM = np.random.default_rng(3)
IMAGE = RANDOM.normal(size=(1, 2, 6, 8)).astype(np.float32)
MATRIX = RANDOM.normal(size=(4, 6)).astype(np.float32)
INT64, BOOL = TensorProto.INT64, TensorProto.BOOL
CHANNELS = RANDOM.normal(size=(2, 6, 3, 4)).astype(np.float32)
GRID = RANDOM.uniform(-1.4, 1.4, size=(1, 3, 4, 2)).astype(np.float32)
KERNEL = RANDOM.normal(size=(3, 2, 3, 3)).astype(np.float32)


def floats(*values):
    return np.array(values, np.float32)


# name: (opset, operator, attributes, inputs behind x, x, number of outputs)
CASES = {
    "upsample_nearest": (7, "Upsample", {"scales": [1.0, 1.0, 2.0, 3.0]}, [], IMAGE, 1),
    "upsample_linear": (9, "Upsample", {"mode": "linear"}, [floats(1, 1, 2, 2)], IMAGE, 1),
    "resize_nearest_up": (10, "Resize", {}, [floats(1, 1, 2, 1.5)], IMAGE, 1),
    "resize_nearest_down": (10, "Resize", {}, [floats(1, 1, 0.5, 0.4)], IMAGE, 1),
    "resize_linear": (10, "Resize", {"mode": "linear"}, [floats(1, 1, 1.7, 0.6)], IMAGE, 1),
    "softmax_inner_axis": (7, "Softmax", {"axis": 1}, [], IMAGE, 1),
    "softmax_default_axis": (11, "Softmax", {}, [], IMAGE, 1),
    "softmax_last_axis": (11, "Softmax", {"axis": -1}, [], IMAGE, 1),
    "log_softmax": (7, "LogSoftmax", {"axis": 2}, [], IMAGE, 1),
    "hardmax_last_axis": (7, "Hardmax", {"axis": 3}, [], IMAGE, 1),
    "slice": (7, "Slice", {"axes": [2, 3], "starts": [1, -6], "ends": [5, 2147483647]}, [], IMAGE, 1),
    "slice_without_axes": (7, "Slice", {"starts": [0, 0, 1], "ends": [1, 1, 4]}, [], IMAGE, 1),
    "clip": (7, "Clip", {"min": -0.5, "max": 0.25}, [], MATRIX, 1),
    "clip_min_only": (7, "Clip", {"min": -0.5}, [], MATRIX, 1),
    "pad_constant": (7, "Pad", {"pads": [0, 0, 1, 2, 0, 0, 3, 0], "value": 1.5}, [], IMAGE, 1),
    "pad_reflect": (7, "Pad", {"pads": [0, 0, 1, 2, 0, 0, 3, 0], "mode": "reflect"}, [], IMAGE, 1),
    "topk": (9, "TopK", {"k": 2, "axis": 1}, [], MATRIX, 2),
    "dropout": (7, "Dropout", {"ratio": 0.3}, [], MATRIX, 1),
    "squeeze": (7, "Squeeze", {"axes": [0]}, [], IMAGE, 1),
    "unsqueeze": (7, "Unsqueeze", {"axes": [0, 3]}, [], MATRIX, 1),
    "split": (7, "Split", {"axis": 1, "split": [2, 4]}, [], MATRIX, 2),
    "split_even": (11, "Split", {"axis": 1}, [], MATRIX, 2),
    "reduce_sum": (7, "ReduceSum", {"axes": [1], "keepdims": 0}, [], IMAGE, 1),
    "reduce_mean": (7, "ReduceMean", {"axes": [2, 3]}, [], IMAGE, 1),
    "reduce_max_all": (11, "ReduceMax", {"keepdims": 0}, [], IMAGE, 1),
    "batch_norm": (7, "BatchNormalization", {}, [floats(1, 2), floats(0, 1), floats(3, 4), floats(1, 2)], IMAGE, 1),
    "max_pool": (7, "MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}, [], IMAGE, 1),
    "average_pool": (7, "AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}, [], IMAGE, 1),
    "global_average_pool": (7, "GlobalAveragePool", {}, [], IMAGE, 1),
    "gemm": (7, "Gemm", {"alpha": 0.5, "beta": 2.0}, [np.ones((6, 3), np.float32), floats(1, 2, 3)], MATRIX, 1),
    "prelu": (7, "PRelu", {}, [floats(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)], MATRIX, 1),
    "flatten": (7, "Flatten", {"axis": 2}, [], IMAGE, 1),
    "depth_to_space": (7, "SpaceToDepth", {"blocksize": 2}, [], IMAGE, 1),
    "cast": (7, "Cast", {"to": TensorProto.FLOAT}, [], MATRIX, 1),
    "argmax": (7, "ArgMax", {"axis": 1}, [], MATRIX, 1),
    "lrn": (7, "LRN", {"size": 3}, [], IMAGE, 1),
    "hard_sigmoid": (7, "HardSigmoid", {"alpha": 0.3}, [], MATRIX, 1),
    "gather": (7, "Gather", {"axis": 1}, [np.array([3, 0], np.int64)], MATRIX, 1),
    "tile": (7, "Tile", {}, [np.array([2, 1], np.int64)], MATRIX, 1),
    # Two scales for two groups of six channels; one for each channel since opset 21.
    "group_norm": (18, "GroupNormalization", {"num_groups": 2}, [floats(1, 2), floats(-1, 3)], CHANNELS, 1),
    "group_norm_one_group": (18, "GroupNormalization", {"num_groups": 1, "epsilon": 0.1}, [floats(2), floats(3)], CHANNELS, 1),
    "group_norm_each": (18, "GroupNormalization", {"num_groups": 6},
                        [floats(1, 2, 3, 4, 5, 6), floats(6, 5, 4, 3, 2, 1)], CHANNELS, 1),
    "resize_roi": (11, "Resize", {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 2.0, "mode": "linear"},
                   [floats(0, 0, 0.2, 0.1, 1, 1, 0.9, 1.3), floats(1, 1, 2, 1.5)], IMAGE, 1),
    "resize_cubic": (11, "Resize", {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1},
                     [floats(), floats(1, 1, 2, 1.5)], IMAGE, 1),
    "resize_align_corners": (13, "Resize", {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
                             [floats(), floats(1, 1, 2, 1.5)], IMAGE, 1),
    "resize_floor": (11, "Resize", {"nearest_mode": "floor"}, [floats(), floats(1, 1, 0.7, 1.5)], IMAGE, 1),
    "resize_half_pixel_nearest": (17, "Resize", {}, [floats(), floats(1, 1, 0.7, 1.5)], IMAGE, 1),
    "resize_axes": (18, "Resize", {"axes": [2, 3], "antialias": 1, "mode": "linear"}, [floats(), floats(0.5, 0.7)], IMAGE, 1),
    "roi_align": (10, "RoiAlign", {"output_height": 2, "output_width": 3, "sampling_ratio": 2},
                  [np.array([[0, 0, 5, 5], [1, 1, 7, 4]], np.float32), np.array([0, 0], np.int64)], IMAGE, 1),
    "roi_align_max": (16, "RoiAlign", {"output_height": 2, "output_width": 2, "mode": "max", "sampling_ratio": 2},
                      [np.array([[0, 0, 5, 5]], np.float32), np.array([0], np.int64)], IMAGE, 1),
    "grid_sample": (16, "GridSample", {"align_corners": 1}, [GRID], IMAGE, 1),
    "grid_sample_bilinear": (16, "GridSample", {"mode": "bilinear", "padding_mode": "border"}, [GRID], IMAGE, 1),
    "grid_sample_bicubic": (16, "GridSample", {"mode": "bicubic", "padding_mode": "reflection"}, [GRID], IMAGE, 1),
    "grid_sample_nearest": (16, "GridSample", {"mode": "nearest"}, [GRID], IMAGE, 1),
    "average_pool_ceil": (11, "AveragePool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1,
                                              "count_include_pad": 1}, [], IMAGE, 1),
    "average_pool_ceil_exclude": (11, "AveragePool", {"kernel_shape": [3, 2], "strides": [2, 3], "ceil_mode": 1}, [], IMAGE, 1),
    "average_pool_same": (11, "AveragePool", {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"}, [], IMAGE, 1),
    "max_pool_ceil": (11, "MaxPool", {"kernel_shape": [3, 2], "strides": [2, 3], "ceil_mode": 1, "dilations": [2, 1]}, [], IMAGE, 1),
    "lp_pool": (11, "LpPool", {"kernel_shape": [2, 3], "p": 1, "pads": [1, 1, 0, 1]}, [], IMAGE, 1),
    "lp_pool_same": (11, "LpPool", {"kernel_shape": [2, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}, [], IMAGE, 1),
    "global_lp_pool": (11, "GlobalLpPool", {"p": 3}, [], IMAGE, 1),
    "lp_normalization": (11, "LpNormalization", {"p": 1, "axis": 1}, [], IMAGE, 1),
    "instance_norm": (11, "InstanceNormalization", {"epsilon": 0.1}, [floats(1, 2), floats(0, 1)], IMAGE, 1),
    "batch_norm_9": (11, "BatchNormalization", {"epsilon": 0.1}, [floats(1, 2), floats(0, 1), floats(3, 4), floats(1, 2)], IMAGE, 1),
    "mean_variance_norm": (11, "MeanVarianceNormalization", {"axes": [0, 2, 3]}, [], IMAGE, 1),
    "layer_norm": (17, "LayerNormalization", {"axis": 1}, [floats(1, 2, 3, 4, 5, 6), floats(0, 1, 2, 3, 4, 5)], MATRIX, 1),
    "pad_edge": (11, "Pad", {"mode": "edge"}, [np.array([0, 0, 1, 2, 0, 0, 3, 0], np.int64)], IMAGE, 1),
    "pad_axes": (18, "Pad", {}, [np.array([1, 2], np.int64), floats(3).reshape(()), np.array([-1], np.int64)], IMAGE, 1),
    "split_sizes": (13, "Split", {"axis": 1}, [np.array([1, 5], np.int64)], MATRIX, 2),
    "split_13_even": (13, "Split", {"axis": -1}, [], MATRIX, 3),
    "scatter_elements": (11, "ScatterElements", {"axis": 1}, [np.zeros((4, 1), np.int64), np.ones((4, 1), np.float32)], MATRIX, 1),
    "scatter_elements_add": (16, "ScatterElements", {"axis": 1, "reduction": "add"},
                             [np.zeros((4, 2), np.int64), np.ones((4, 2), np.float32)], MATRIX, 1),
    "scatter_nd": (11, "ScatterND", {}, [np.array([[0], [2]], np.int64), np.ones((2, 6), np.float32)], MATRIX, 1),
    "gather_elements": (11, "GatherElements", {"axis": 1}, [np.array([[0, 5]] * 4, np.int64)], MATRIX, 1),
    "gather_nd": (12, "GatherND", {"batch_dims": 1}, [np.array([[0], [5], [1], [2]], np.int64)], MATRIX, 1),
    "cum_sum": (11, "CumSum", {"exclusive": 1, "reverse": 1}, [np.array(1, np.int64)], MATRIX, 1),
    "pow": (11, "Pow", {}, [floats(2)], MATRIX, 1),
    "mod": (11, "Mod", {"fmod": 1}, [floats(0.3)], MATRIX, 1),
    "round": (11, "Round", {}, [], MATRIX, 1),
    "elu": (11, "Elu", {"alpha": 0.5}, [], MATRIX, 1),
    "selu": (11, "Selu", {}, [], MATRIX, 1),
    "celu": (12, "Celu", {"alpha": 0.5}, [], MATRIX, 1),
    "hard_swish": (14, "HardSwish", {}, [], MATRIX, 1),
    "mish": (18, "Mish", {}, [], MATRIX, 1),
    "thresholded_relu": (11, "ThresholdedRelu", {"alpha": 0.2}, [], MATRIX, 1),
    "leaky_relu": (11, "LeakyRelu", {"alpha": 0.2}, [], MATRIX, 1),
    "einsum": (12, "Einsum", {"equation": "ij,kj->ik"}, [np.ones((3, 6), np.float32)], MATRIX, 1),
    "conv": (11, "Conv", {"auto_pad": "SAME_LOWER", "strides": [2, 2]}, [KERNEL], IMAGE, 1),
    "conv_transpose": (11, "ConvTranspose", {"strides": [2, 2], "auto_pad": "SAME_UPPER"}, [KERNEL.transpose(1, 0, 2, 3)], IMAGE, 1),
    "conv_transpose_shape": (11, "ConvTranspose", {"strides": [2, 2], "output_shape": [12, 16]},
                             [KERNEL.transpose(1, 0, 2, 3)], IMAGE, 1),
    "depth_to_space_crd": (11, "DepthToSpace", {"blocksize": 2, "mode": "CRD"}, [],
                           RANDOM.normal(size=(1, 4, 2, 3)).astype(np.float32), 1),
    "topk_smallest": (11, "TopK", {"axis": 1, "largest": 0}, [np.array([2], np.int64)], MATRIX, 2),
    "argmin_last": (12, "ArgMin", {"axis": 1, "select_last_index": 1, "keepdims": 0}, [], MATRIX, 1),
    "reduce_l1": (11, "ReduceL1", {"axes": [1]}, [], IMAGE, 1),
    "reduce_l2": (11, "ReduceL2", {"axes": [-1], "keepdims": 0}, [], IMAGE, 1),
    "reduce_log_sum": (11, "ReduceLogSum", {"axes": [2, 3]}, [], IMAGE, 1),
    "reduce_log_sum_exp": (13, "ReduceLogSumExp", {"axes": [1, 2]}, [], IMAGE, 1),
    "reduce_prod": (13, "ReduceProd", {"axes": [3]}, [], IMAGE, 1),
    "reduce_sum_square": (13, "ReduceSumSquare", {"axes": [0, 1, 2, 3]}, [], IMAGE, 1),
    "reduce_sum_13": (13, "ReduceSum", {"noop_with_empty_axes": 1}, [], IMAGE, 1),
    "reduce_mean_18": (18, "ReduceMean", {"keepdims": 0}, [np.array([1, 3], np.int64)], IMAGE, 1),
    "lstm": (11, "LSTM", {"hidden_size": 2, "direction": "bidirectional", "clip": 0.5},
             [RANDOM.normal(size=(2, 8, 6)).astype(np.float32), RANDOM.normal(size=(2, 8, 2)).astype(np.float32)],
             RANDOM.normal(size=(3, 1, 6)).astype(np.float32), 3),
    "gru": (11, "GRU", {"hidden_size": 2, "linear_before_reset": 1},
            [RANDOM.normal(size=(1, 6, 6)).astype(np.float32), RANDOM.normal(size=(1, 6, 2)).astype(np.float32)],
            RANDOM.normal(size=(3, 1, 6)).astype(np.float32), 2),
    "rnn": (14, "RNN", {"hidden_size": 2, "layout": 0, "activations": ["Affine"], "activation_alpha": [0.5], "activation_beta": [0.1]},
            [RANDOM.normal(size=(1, 2, 6)).astype(np.float32), RANDOM.normal(size=(1, 2, 2)).astype(np.float32)],
            RANDOM.normal(size=(3, 1, 6)).astype(np.float32), 2),
    "dft": (17, "DFT", {"axis": 1}, [], RANDOM.normal(size=(1, 6, 1)).astype(np.float32), 1),
    "dft_inverse": (17, "DFT", {"axis": 1, "inverse": 1}, [], RANDOM.normal(size=(1, 6, 2)).astype(np.float32), 1),
    "dft_onesided_length": (17, "DFT", {"axis": 2, "onesided": 1}, [np.array(4, np.int64)],
                            RANDOM.normal(size=(1, 3, 6, 1)).astype(np.float32), 1),
    "is_nan": (9, "IsNaN", {}, [], MATRIX, 1),
    "is_inf": (10, "IsInf", {"detect_negative": 0}, [], MATRIX, 1),
    "equal": (11, "Equal", {}, [floats(1)], MATRIX, 1),
    "greater_or_equal": (12, "GreaterOrEqual", {}, [floats(0.5)], MATRIX, 1),
    "shape_part": (15, "Shape", {"start": 1, "end": -1}, [], IMAGE, 1),
    "size": (11, "Size", {}, [], IMAGE, 1),
    "non_zero": (11, "NonZero", {}, [], MATRIX, 1),
    "reshape_zero": (13, "Reshape", {}, [np.array([0, -1], np.int64)], IMAGE, 1),
    "eye_like": (11, "EyeLike", {"k": 1}, [], MATRIX, 1),
    "cast_saturating": (13, "Cast", {"to": TensorProto.INT32}, [], MATRIX, 1),
    "deform_conv": (19, "DeformConv", {"pads": [1, 1, 1, 1]}, [KERNEL, np.full((1, 18, 6, 8), 0.3, np.float32)], IMAGE, 1),
    "max_roi_pool": (11, "MaxRoiPool", {"pooled_shape": [2, 2], "spatial_scale": 0.5}, [floats(0, 1, 1, 9, 9).reshape(1, 5)], IMAGE, 1),
    "det": (11, "Det", {}, [], np.eye(3, dtype=np.float32) * 2, 1),
    "prelu_broadcast": (11, "PRelu", {}, [floats(0.1, 0.2).reshape(2, 1, 1)], IMAGE, 1),
    "trilu": (14, "Trilu", {"upper": 0}, [np.array(1, np.int64)], MATRIX, 1),
    "scatter": (9, "Scatter", {"axis": 0}, [np.zeros((1, 6), np.int64), np.ones((1, 6), np.float32)], MATRIX, 1),
}


def model_of(case, rank_known):
    opset, operator, attributes, extra, x, count = case
    names = ["x"] + [f"c{i}" for i in range(len(extra))]
    outputs = [f"y{i}" for i in range(count)]
    nodes = [helper.make_node("Abs", ["input"], ["x"], name="before"),
             helper.make_node(operator, names, outputs, name="tested", **attributes)]
    shape = list(x.shape) if rank_known else None
    other = {"ArgMax": {0: INT64}, "ArgMin": {0: INT64}, "TopK": {1: INT64}, "Shape": {0: INT64}, "Size": {0: INT64},
             "NonZero": {0: INT64}, "IsNaN": {0: BOOL}, "IsInf": {0: BOOL}, "Equal": {0: BOOL}, "GreaterOrEqual": {0: BOOL},
             "Cast": {0: attributes.get("to")}}.get(operator, {})
    infos = [helper.make_tensor_value_info(name, other.get(i, TensorProto.FLOAT), None)
             for i, name in enumerate(outputs)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)], infos,
                              [numpy_helper.from_array(value, name) for name, value in zip(names[1:], extra)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4)


@pytest.mark.sampled
@pytest.mark.parametrize("target", [13, 18, 21, 23])
@pytest.mark.parametrize("rank_known", [True, False], ids=["shape", "no_shape"])
@pytest.mark.parametrize("name", CASES)
def test_raised_operator_computes_the_same(name, rank_known, target, tmp_path):
    if CASES[name][0] > target:
        pytest.skip("no rise")
    model = model_of(CASES[name], rank_known)
    source, raised = str(tmp_path / "m.onnx"), str(tmp_path / "raised.onnx")
    onnx.save(model, source)
    done = subprocess.run([PROGRAM, source, raised, str(tmp_path), sys.executable, EVALUATE, "float32", f"opset={target}"],
                          capture_output=True, text=True)
    if name == "hardmax_last_axis" and not rank_known:
        # Which axis is the last is not known: its meaning may change, so it is refused.
        assert done.returncode == 3 and "node 'tested' (Hardmax) cannot be raised from opset 7" in done.stderr
        return
    if name.startswith("group_norm") and not rank_known and target >= 21:
        assert done.returncode == 3 and "the number of its channels is unknown" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    loaded = onnx.load(raised)
    assert loaded.opset_import[0].version == target
    assert {"before", "tested"} <= {node.name for node in loaded.graph.node}
    if CASES[name][1] in {"RoiAlign", "MaxRoiPool", "GlobalLpPool"} and target > 21:
        loaded.opset_import[0].version = 21  # ONNX Runtime has no newer kernel; only types changed
        onnx.save(loaded, raised)
    feed = {"input": CASES[name][4]}
    ref, got = run(source, feed), run(raised, feed)
    assert list(ref) == list(got)
    for output in ref:
        # From 19 on ONNX Runtime averages with another kernel, which sums in another order.
        ulps = 4 if CASES[name][1] == "AveragePool" and target >= 19 else 0
        np.testing.assert_allclose(got[output], ref[output], rtol=ulps * np.finfo(np.float32).eps, atol=0)


def test_group_normalization_with_scales_that_are_no_constants(tmp_path):
    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    node = helper.make_node("GroupNormalization", ["x", "scale", "bias"], ["y"], name="tested", num_groups=2)
    graph = helper.make_graph([node], "g", [value("x", CHANNELS.shape), value("scale", [2]), value("bias", [2])],
                              [value("y", CHANNELS.shape)])
    source, raised = str(tmp_path / "m.onnx"), str(tmp_path / "raised.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), source)
    subprocess.run([PROGRAM, source, raised, str(tmp_path), sys.executable, EVALUATE, "float32", "opset=21"], check=True)
    feed = {"x": CHANNELS, "scale": floats(1, 2), "bias": floats(-1, 3)}
    np.testing.assert_array_equal(run(raised, feed)["y"], run(source, feed)["y"])
