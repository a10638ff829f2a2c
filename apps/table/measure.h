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
                       ".npy, .npz, a folder of .npz, images, saved inputs JSON, ONNX test data folders, or a data "
                       "loader script loader.py[:FUNC] (default: random data, with a warning)")
        .python("samples");
inline constexpr auto kTimeoutOfEngine =
    row(&SourceOptions::script_seconds, "--timeout SECONDS",
        "Time limit for a script or an answer of an engine (default: 600 for engines)")
        .unsaid();

inline constexpr auto kSource =
    table("SourceOptions", "Data", kData,
          row<SourceOptions>(
              "--load-inputs,--load-input-data SOURCE",
              "Instead of --data: one or more sources in any form of --data, read in this order (default: none)")
              .many(),
          row<SourceOptions>("--data-loader-script FILE[:FUNC]",
                             "Instead of --data: a Python script; FUNC yields a dict {input name: numpy array} for "
                             "each sample (default: none; FUNC: load_data)"),
          row(&SourceOptions::python, "--python PROGRAM",
              "Python that runs scripts; data loaders need NumPy (default: python3)")
              .unsaid(),
          row(&SourceOptions::script_seconds, "--timeout SECONDS",
              "Time limit for a script, or for one start of --exec (default: never)")
              .unsaid(),
          row(&SourceOptions::limit, "--samples N", "Use at most N samples, 1 or more (default: all; 1 of random data)")
              .by_hand()
              .python("limit", kReadingImages, "the maximum number of samples."),
          row<SourceOptions>("--iterations,--iters N", "The same as --samples (default: none)"),
          row(&SourceOptions::split_batch, "--split-batch",
              "Split a .npy or .npz along a dynamic first dimension into samples of batch 1")
              .python("split_batch", kReadingSamples,
                      "split arrays along a dynamic first dimension into samples of batch 1; batches in a list too."),
          row(&SourceOptions::value_ranges, "--val-range [NAME:][LO,HI]",
              "Range of random data, ends included (default: [0,1])"),
          row(&SourceOptions::seed, "--seed N", "Seed of random data, 0 or more (default: 1)")
              .from(0)
              .unsaid()
              .python("seed", "diagnose fix verify run bench", "the seed of random data."),
          row(&SourceOptions::shapes, "--input-shapes,--inputs NAME:[DIMS]",
              "Shapes of dynamic inputs of random data, x:[1,3,224,224] (default: dynamic dimensions become 1)")
              .python("input_shapes", "diagnose fix verify run bench",
                      "{input: shape} of random data; other dynamic dimensions are 1."));

inline constexpr auto kImage =
    table("ImageOptions", "Images (for a --data folder of images)",
          row(&ImageOptions::geometry, "--image HOW",
              "How images are fitted, in pixels: short-crop:256,224 | stretch:WxH | "
              "letterbox:SIZE[,pad=114,center|topleft] | height:32 (default: stretch to the input's size)")
              .python("image[\"geometry\"]"),
          row(&ImageOptions::mean, "--image-mean V", "Mean to subtract, one value or three, in 0..255 (default: 0)")
              .python("image[\"mean\"]"),
          row(&ImageOptions::scale, "--image-std V",
              "Standard deviation to divide by, one value or three, in 0..255, not 0 (default: 1)")
              .python("image[\"scale\"]"),
          row(&ImageOptions::color, "--image-color ORDER", "Colour channels: rgb, bgr or y (default: rgb)")
              .python("image[\"color\"]"),
          row(&ImageOptions::layout, "--image-layout LAYOUT",
              "Layout of the input: nchw or nhwc (default: from the input's shape)")
              .python("image[\"layout\"]"));

inline constexpr auto kCarries =
    row(&MeasureOptions::carries, "--carry OUT:IN",
        "Feed output OUT back to input IN with the next sample, starting at zero (default: none)")
        .python("carry", "diagnose fix verify run evaluate",
                "{output: input}: outputs to feed back with the next sample.");
inline constexpr auto kThreads =
    row(&MeasureOptions::threads, "--threads N",
        "Threads to compute with, up to 4096; 0: all usable cores (default: 0)")
        .from(0, 4096)
        .python("threads", kReadingImages, "threads to compute with; 0: all usable cores.");
inline constexpr auto kDevice =
    row(&MeasureOptions::device, "--device DEVICE",
        "Device that runs networks: auto, cpu, cuda or cuda:N. cuda needs onnxruntime-gpu; MPI ranks take the "
        "GPUs of their machine in turn; auto uses a GPU for large jobs (default: auto)")
        .choices("auto cpu cuda")
        .python("device", kReadingImages, "\"auto\", \"cpu\", \"cuda\" or \"cuda:N\": the device that runs networks.");
inline constexpr auto kGpuMemory =
    row(&MeasureOptions::gpu_memory, "--gpu-memory SIZE",
        "Most memory to use on a GPU, such as 8G or 512M; less means smaller batches, then networks in parts "
        "(default: what is free)")
        .python("gpu_memory", kReadingImages,
                "most memory to use on a GPU, in bytes or as \"8G\"; None: what is free.");
inline constexpr auto kCustomOps =
    row(&MeasureOptions::custom_operators, "--custom-ops,--custom-op-library LIB.so",
        "Shared libraries with custom operators for ONNX Runtime, loaded into this process (default: none)")
        .python("custom_ops", "diagnose fix verify run evaluate bench",
                "shared libraries with custom operators for ONNX Runtime.");
inline constexpr auto kExternalDataDir =
    row(&MeasureOptions::external_data_dir, "--external-data-dir,--load-external-data,--ext DIR",
        "Folder of weights that are stored outside the model (default: the model's folder)")
        .python("external_data_dir", "diagnose fix verify run evaluate bench",
                "folder of weights that are stored outside the model; empty: the model's folder.");
/// Samples as jobs run them.
inline constexpr auto kRunning = table(
    "MeasureOptions", "Data", kCarries, kThreads, kDevice, kGpuMemory, kCustomOps, kExternalDataDir,
    row<MeasureOptions>("")
        .python(
            "image", kReadingImages,
            "how to prepare a folder of images: {\"geometry\": \"short-crop:256,224\", \"mean\": ..., \"scale\": ...}.")
        .typed("Mapping[str, Any] | None", "None"));

inline constexpr auto kCalibrationCache =
    row(&MeasureOptions::calibration_cache, "--calibration-cache,--calib FILE",
        "File of ranges, read if it exists; otherwise calibrated and written. It may be in the format of TensorRT, "
        "ONNX Runtime or Vernier; a new file is JSON under *.json, otherwise TensorRT's text (default: none)")
        .writes()
        .python("calibration_cache", kQuantizing,
                "a file of ranges (TensorRT's cache, ONNX Runtime's JSON or Vernier's): read if it exists, otherwise "
                "calibrated and written.");
inline constexpr auto kCalibration =
    table("MeasureOptions", "Data",
          row<MeasureOptions>("--calibration-data SOURCE",
                              "Samples to calibrate on, in any form of --data (default: the samples of --data)")
              .python("calibration_samples", "diagnose fix run", "samples to calibrate on; None: ``samples``.")
              .common()
              .typed("Any", "None"),
          kCalibrationCache);

inline constexpr auto kBatch =
    table("MeasureOptions", "Data",
          row(&MeasureOptions::batch, "--batch N",
              "Run up to N samples of equal shapes as one batch, 1 to 4096. If the network does not allow it, samples "
              "run one by one, and a warning says why (default: 1)")
              .from(1, 4096)
              .python("batch", "verify calibrate evaluate",
                      "run up to so many samples as one batch. If the network does not allow it, samples run one by "
                      "one, and the report has a warning."));

inline constexpr auto kNoPartial =
    table("MeasureOptions", "Data",
          row<MeasureOptions>("--no-cache",
                              "Start anew, and keep no intermediate state (default: an interrupted run resumes from "
                              "its state in ~/.cache/vernier)"));

inline constexpr const char* kMetricGroup =
    "Requirement (one metric; default: none; must hold for each measured output)";

/// One of them, with its limits.
inline constexpr auto kRequirement =
    table("Requirement", kMetricGroup,
          row<Requirement>("--min-sqnr [OUTPUT:]DB", "SQNR of at least DB decibels, pooled over samples (any number)")
              .many()
              .python("min_sqnr", kJudging,
                      "minimum signal-to-noise ratio in dB, pooled over samples: a number, or {output: number}. Use "
                      "one requirement at a time.")
              .common()
              .typed("Limits | None", "None"),
          row<Requirement>("--max-abs-error [OUTPUT:]E",
                           "Largest error of an element of at most E (0 or more, in the output's unit)")
              .many()
              .from(0)
              .python("max_abs", kJudging, "maximum error of an element.")
              .typed("Limits | None", "None"),
          row<Requirement>("--max-mse [OUTPUT:]E",
                           "Mean squared error of at most E (0 or more, in the output's unit squared)")
              .many()
              .from(0)
              .python("max_mse", kJudging, "maximum mean squared error.")
              .typed("Limits | None", "None"),
          row<Requirement>("--min-cosine [OUTPUT:]C", "Cosine similarity of at least C (-1 to 1)")
              .many()
              .from(-1, 1)
              .python("min_cosine", kJudging, "minimum cosine similarity, -1 to 1.")
              .typed("Limits | None", "None"),
          row<Requirement>("--min-top1-agreement [OUTPUT:]P",
                           "Share of rows with the float model's largest element, at least P (0 to 1)")
              .many()
              .from(0, 1)
              .python("min_top1_agreement", kJudging, "minimum share of samples with the float model's class, 0 to 1.")
              .common()
              .typed("Limits | None", "None"),
          row<Requirement>("--margin DB", "Extra margin beyond the requirement, in dB of error power (default: 0)")
              .python("margin", kJudging, "extra margin beyond the requirement, in dB.")
              .typed("float", "0"));

/// What is judged.
inline constexpr auto kOutputs =
    row(&MeasureOptions::outputs, "--outputs NAME",
        "Outputs to measure, or slices of them: 'output0[:,4:]' (default: every float output that carries no state)")
        .python("outputs", "diagnose fix verify evaluate",
                "outputs to measure, or slices of them (\"output0[:,4:]\"); empty: every float output that carries no "
                "state.");
inline constexpr auto kJudged =
    table("MeasureOptions", kMetricGroup,
          row(&MeasureOptions::top1_axes, "--top1-axis [OUTPUT:]AXIS",
              "Axis of the classes, counted from 0, or from -1 backwards (default: from the graph)")
              .by_hand(),
          row(&MeasureOptions::output_parts, "--no-output-parts",
              "Measure each output only as a whole (default: also parts of different scale, such as boxes and scores)")
              .off()
              .python("output_parts", kJudging, "also measure parts of different scale, such as boxes and scores."));

}  // namespace vernier::table
