// What a network is worth for its task: labels and metrics that decide, and how outputs are read.
#pragma once

#include "table/jobs.h"
#include "table/row.h"
#include "vernier/eval.h"
#include "vernier/search_options.h"

namespace vernier::table {

/// What decides instead of a requirement.
inline constexpr auto kScore = table(
    "TaskRequirement", "Task (instead of a requirement)",
    row<TaskRequirement>("--labels FILE",
                         "Right classes, one a sample: .npy of whole numbers, or text with one a line (default: none)")
        .python("labels", kDiagnosing, "right classes, one a sample.")
        .typed("Any", "None"),
    row<TaskRequirement>("--label-offset N", "Added to every label (default: 0)")
        .by_hand("0")
        .python("label_offset", kDiagnosing, "added to every label.")
        .typed("int", "0"),
    row<TaskRequirement>("--min-top1 P", "Share of samples whose largest score is the label's, 0 to 1 (default: none)")
        .python("min_top1", kDiagnosing, "the share of ``labels`` that must be right, 0 to 1.")
        .typed("float | None", "None"),
    row<TaskRequirement>("--min-top5 P", "Share whose label is among the five largest scores, 0 to 1 (default: none)"),
    row<TaskRequirement>("--metric-script FILE.py[:FUNC]",
                         "FUNC(outputs, references) -> number, of lists with one dict {name: array} a sample; run in "
                         "your Python (default: none; default function: metric)")
        .python("metric", kDiagnosing,
                "``metric(outputs, references)``, lists of {output: array} over samples, gives a number that must be "
                "at least ``min_metric`` or at most ``max_metric``; called with all samples where it decides, with a "
                "few where the search only looks what to try next.")
        .typed("Callable[..., float] | None", "None"),
    row<TaskRequirement>("--min V", "The number must be at least V (default: none)")
        .python("min_metric", kDiagnosing, "of ``metric``, at least.")
        .typed("float | None", "None"),
    row<TaskRequirement>("--max V", "The number must be at most V (default: none)")
        .python("max_metric", kDiagnosing, "of ``metric``, at most.")
        .typed("float | None", "None"));

inline constexpr auto kTask =
    row(&EvalOptions::task, "--task TASK", "classification, detection, segmentation, language or custom")
        .by_hand()
        .python("task", "evaluate",
                "\"classification\" (top-1, top-5), \"detection\" (mAP), \"segmentation\" "
                "(mIoU), \"language\" (perplexity), \"custom\".");

/// What is measured.
inline constexpr auto kEvaluation = table(
    "EvalOptions", "Task", kTask,
    row<EvalOptions>(
        "--labels FILE",
        "The right answers. classification: .npy or text, one a sample; detection: COCO's annotations, images in the "
        "order of the samples; segmentation: .npy [samples, height, width]; language: .npy [samples, tokens] (default "
        "there: the next tokens of the input)"),
    row(&EvalOptions::label_offset, "--label-offset N",
        "Added to every label of a class; in segmentation what falls below 0 is left out (default: 0)")
        .python("label_offset", "evaluate check_data", "is added to each label."),
    row(&EvalOptions::ignored_label, "--ignore-label N",
        "Segmentation: pixels of this label are left out (default: 255)")
        .python("ignored_label", "evaluate", "of segmentation: pixels that count for nothing."),
    row(&EvalOptions::script, "--metric-script FILE[:FUNC]",
        "Custom: FUNC computes one number of all outputs (default FUNC: metric)"));

inline constexpr auto kDetection = table(
    "EvalOptions", "Detection",
    row(&EvalOptions::boxes, "--boxes FORM",
        "yolox: [cells, 5+classes] before decoding; plain: outputs [N,4] of corners and [N,classes]; rows: [N,6] of "
        "corners, score, class; yolov5: [N,5+classes] of centre, size, objectness, classes; yolov8: [4+classes,N] of "
        "centre, size, classes (default: yolox)")
        .python("boxes", "evaluate",
                "of detection, how they come out: \"yolox\", \"yolov5\", \"yolov8\", \"plain\", \"rows\"."),
    row(&EvalOptions::box_order, "--box-order ORDER",
        "The four numbers of a box: xyxy, yxyx (corners), cxcywh (centre and size), xywh (upper left corner and size) "
        "(default: xyxy; of yolov5 and yolov8 cxcywh; yolox has its own)")
        .python("box_order", "evaluate", "\"xyxy\", \"yxyx\", \"cxcywh\", \"xywh\"."),
    row(&EvalOptions::scores, "--scores FUNCTION",
        "What the network left out of its scores: none, sigmoid or softmax (default: none)")
        .python("scores", "evaluate", "what the network left out: \"none\", \"sigmoid\", \"softmax\"."),
    row(&EvalOptions::box_units, "--box-units UNITS",
        "input: pixels of the network's input; unit: 0 to 1 of it; image: pixels of the image (default: input)")
        .python("box_units", "evaluate", "\"input\", \"unit\", \"image\"."),
    row(&EvalOptions::fit, "--fit HOW",
        "How images were laid on the input: letterbox (from the upper left), letterbox-center, stretch (default: "
        "letterbox)")
        .python("fit", "evaluate", "\"letterbox\", \"letterbox-center\", \"stretch\"."),
    row(&EvalOptions::background_classes, "--background-classes N", "plain: the first N classes are none (default: 0)")
        .from(0, 1000)
        .python("background_classes", "evaluate", "of boxes \"plain\": the first classes that are none."),
    row(&EvalOptions::overlap, "--nms IOU", "Boxes of a class that overlap by more are one, 0 to 1 (default: 0.65)")
        .from(0, 1)
        .python("overlap", "evaluate", "boxes of a class that overlap by more are one, 0 to 1."),
    row(&EvalOptions::least_score, "--min-score S", "Boxes below are left out (default: 0.01)")
        .python("least_score", "evaluate", "boxes below are left out."));

inline constexpr auto kLimits =
    table("EvalOptions", "Requirement (on the first figure; default: none)",
          row(&EvalOptions::min, "--min V", "At least V; shares are 0 to 1")
              .python("min_metric", "evaluate", "of the first figure, at least."),
          row(&EvalOptions::max, "--max V", "At most V, for perplexity")
              .python("max_metric", "evaluate",
                      "at most. A metric of yours is better when larger, unless ``max_metric`` alone is given."),
          row(&EvalOptions::max_loss, "--max-loss V", "With --against: worse than there by at most V")
              .python("max_loss", "evaluate", "it may be worse than that of ``against`` by so much."));

}  // namespace vernier::table
