// Samples, and what of the outputs is judged.
#pragma once

#include "table/jobs.h"
#include "table/row.h"
#include "vernier/measure.h"
#include "vernier/requirement.h"
#include "vernier/samples.h"

namespace vernier::table {

inline constexpr auto kData =
    row<SourceOptions>("--data SOURCE",
                       ".npy, .npz, a folder of .npz, a folder of images or one image, saved inputs JSON, ONNX test "
                       "data folders, a data loader script loader.py[:FUNC] (default: random data, with a warning)")
        .python("samples");
inline constexpr auto kTimeoutOfEngine =
    row(&SourceOptions::script_seconds, "--timeout SECONDS",
        "End a script, or an answer of an engine, that takes longer (default: 600 for engines)")
        .unsaid();

inline constexpr auto kSource = table(
    "SourceOptions", "Data", kData,
    row<SourceOptions>(
        "--load-inputs,--load-input-data SOURCE",
        "Instead of --data: one or more sources, in any form of --data, one behind the other (default: none)")
        .many(),
    row<SourceOptions>("--data-loader-script FILE[:FUNC]",
                       "Instead of --data: a Python script whose FUNC yields a dict {input name: numpy array} for each "
                       "sample (default: none; FUNC: load_data)"),
    row(&SourceOptions::python, "--python PROGRAM",
        "Python that runs scripts, with NumPy for data loaders (default: python3)")
        .unsaid(),
    row(&SourceOptions::script_seconds, "--timeout SECONDS",
        "End a script, or one start of --exec, that takes longer (default: never)")
        .unsaid(),
    row(&SourceOptions::limit, "--samples N", "Use at most N samples, 1 or more (default: all; of random data: 1)")
        .by_hand()
        .python("limit", kReadingImages, "at most so many samples."),
    row<SourceOptions>("--iterations,--iters N", "The same as --samples (default: none)"),
    row(&SourceOptions::split_batch, "--split-batch",
        "Split a .npy or .npz along a dynamic first dimension into samples of batch 1 (default: do not)")
        .python("split_batch", kReadingSamples,
                "an array along a dynamic first dimension, and each batch of a list, is samples of batch 1."),
    row(&SourceOptions::value_ranges, "--val-range [NAME:][LO,HI]",
        "Range of random data, ends included (default: [0,1])"),
    row(&SourceOptions::seed, "--seed N", "Seed of random data, 0 or more (default: 1)")
        .from(0)
        .unsaid()
        .python("seed", "diagnose fix verify run bench", "of random data."),
    row(&SourceOptions::shapes, "--input-shapes,--inputs NAME:[DIMS]",
        "Shapes of dynamic inputs of random data, x:[1,3,224,224] (default: dynamic dimensions become 1)")
        .python("input_shapes", "diagnose fix verify run bench",
                "{input: shape} of random data; open dimensions of others are 1."));

inline constexpr auto kImage = table(
    "ImageOptions", "Images (for a --data folder of images)",
    row(&ImageOptions::geometry, "--image HOW",
        "short-crop:256,224 | stretch:WxH | letterbox:SIZE[,pad=114,center|topleft] | height:32, in pixels (default: "
        "stretch to the input's size)")
        .python("image[\"geometry\"]"),
    row(&ImageOptions::mean, "--image-mean V", "One value or three, subtracted, in 0..255 (default: 0)")
        .python("image[\"mean\"]"),
    row(&ImageOptions::scale, "--image-std V", "One value or three, divided by, in 0..255, not 0 (default: 1)")
        .python("image[\"scale\"]"),
    row(&ImageOptions::color, "--image-color ORDER", "rgb, bgr or y (default: rgb)").python("image[\"color\"]"),
    row(&ImageOptions::layout, "--image-layout LAYOUT", "nchw or nhwc (default: from the input's shape)")
        .python("image[\"layout\"]"));

inline constexpr auto kCarries =
    row(&MeasureOptions::carries, "--carry OUT:IN",
        "Feed output OUT back to input IN with the next sample; both start at zero (default: none)")
        .python("carry", "diagnose fix verify run evaluate", "{output: input}: fed back with the next sample.");
inline constexpr auto kThreads = row(&MeasureOptions::threads, "--threads N",
                                     "Threads to compute with, up to 4096; 0: all usable cores (default: 0)")
                                     .from(0, 4096)
                                     .python("threads", kReadingImages, "0: all usable cores.");
inline constexpr auto kCustomOps =
    row(&MeasureOptions::custom_operators, "--custom-ops,--custom-op-library LIB.so",
        "Shared libraries of custom operators for ONNX Runtime, which are loaded into this process (default: none)")
        .python("custom_ops", "diagnose fix verify run evaluate bench",
                "shared libraries of custom operators for ONNX Runtime.");
inline constexpr auto kExternalDataDir =
    row(&MeasureOptions::external_data_dir, "--external-data-dir,--load-external-data,--ext DIR",
        "Where the weights lie that models keep in files of their own (default: beside each model)")
        .python("external_data_dir", "diagnose fix verify run evaluate bench",
                "where the weights lie that models keep in files of their own; empty: beside each model.");
/// Samples as jobs run them.
inline constexpr auto kRunning =
    table("MeasureOptions", "Data", kCarries, kThreads, kCustomOps, kExternalDataDir,
          row<MeasureOptions>("")
              .python("image", kReadingImages,
                      "how a folder of images is prepared: {\"geometry\": \"short-crop:256,224\", "
                      "\"mean\": ..., \"scale\": ...}.")
              .typed("Mapping[str, Any] | None", "None"));

inline constexpr auto kCalibrationCache =
    row(&MeasureOptions::calibration_cache, "--calibration-cache,--calib FILE",
        "File of ranges, read when it is there, else learned and written; it is read in TensorRT's, ONNX Runtime's or "
        "our form, and written as JSON under *.json, or as TensorRT's text (default: none)")
        .writes()
        .python("calibration_cache", kQuantizing,
                "a file of ranges (TensorRT's cache, ONNX Runtime's JSON, ours): read when it is there, else learned "
                "and written.");
inline constexpr auto kCalibration = table(
    "MeasureOptions", "Data",
    row<MeasureOptions>("--calibration-data SOURCE",
                        "Samples to learn ranges from, in any form of --data (default: the samples of --data)")
        .python("calibration_samples", "diagnose fix run", "samples that ranges are learned on; None: ``samples``.")
        .typed("Any", "None"),
    kCalibrationCache);

inline constexpr auto kBatch = table(
    "MeasureOptions", "Data",
    row(&MeasureOptions::batch, "--batch N",
        "Run up to N samples of equal shapes as one, 1 to 4096, where the network's first dimensions are open and "
        "the answers are those of single samples; a warning says where not (default: 1)")
        .from(1, 4096)
        .python("batch", "verify calibrate evaluate",
                "so many samples run as one where the network allows it and the answers are those of single "
                "samples; a warning of the report says where not."));

inline constexpr auto kNoPartial =
    table("MeasureOptions", "Data",
          row<MeasureOptions>("--no-cache",
                              "Begin anew, and keep nothing on the way (default: a run that was cut short goes on from "
                              "what it had learned, which is kept in ~/.cache/vernier until it is done)"));

inline constexpr const char* kMetricGroup = "Requirement (one metric; default: none; must hold for each judged output)";

/// One of them, with its limits.
inline constexpr auto kRequirement = table(
    "Requirement", kMetricGroup,
    row<Requirement>("--min-sqnr [OUTPUT:]DB", "At least DB decibels of SQNR, pooled over samples (any number)")
        .many()
        .python("min_sqnr", kJudging,
                "at least so many dB of signal over noise, pooled over samples; a number, or {output: number}. The "
                "other requirements alike. One decides.")
        .typed("Limits | None", "None"),
    row<Requirement>("--max-abs-error [OUTPUT:]E", "No element off by more than E (0 or more, in the output's unit)")
        .many()
        .from(0)
        .python("max_abs", kJudging, "no error is larger.")
        .typed("Limits | None", "None"),
    row<Requirement>("--max-mse [OUTPUT:]E",
                     "Mean squared error of at most E (0 or more, in the output's unit squared)")
        .many()
        .from(0)
        .python("max_mse", kJudging, "mean squared error.")
        .typed("Limits | None", "None"),
    row<Requirement>("--min-cosine [OUTPUT:]C", "Cosine similarity of at least C (-1 to 1)")
        .many()
        .from(-1, 1)
        .python("min_cosine", kJudging, "cosine similarity, -1 to 1.")
        .typed("Limits | None", "None"),
    row<Requirement>("--min-top1-agreement [OUTPUT:]P",
                     "Largest element at the same place in at least this share of rows (0 to 1)")
        .many()
        .from(0, 1)
        .python("min_same_top1", kJudging, "share of samples with the float model's class, 0 to 1.")
        .typed("Limits | None", "None"),
    row<Requirement>("--margin DB", "Ask for this much more than the requirement, in dB of error power (default: 0)")
        .python("margin", kJudging, "dB that are asked for beyond the requirement.")
        .typed("float", "0"));

/// What is judged.
inline constexpr auto kOutputs =
    row(&MeasureOptions::outputs, "--outputs NAME",
        "Outputs to judge, or slices of them: 'output0[:,4:]' (default: every float output that carries no state)")
        .python("outputs", "diagnose fix verify evaluate",
                "that are judged, or slices of them (\"output0[:,4:]\"); empty: every float output that carries "
                "no state.");
inline constexpr auto kJudged = table(
    "MeasureOptions", kMetricGroup,
    row(&MeasureOptions::top1_axes, "--top1-axis [OUTPUT:]AXIS",
        "Axis along which classes lie, from 0, or from -1 backwards (default: as the graph says)")
        .by_hand(),
    row(&MeasureOptions::output_parts, "--no-output-parts",
        "Judge each output as a whole (default: parts of different scale, such as boxes and scores, are judged as "
        "well)")
        .off()
        .python("output_parts", kJudging, "judge parts of different scale, such as boxes and scores, as well."));

}  // namespace vernier::table
