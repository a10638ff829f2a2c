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
    row<TaskRequirement>(
        "--labels FILE",
        "Correct classes, one per sample: .npy of whole numbers, or text with one per line (default: none)")
        .python("labels", kDiagnosing, "correct classes, one per sample.")
        .common()
        .typed("Any", "None"),
    row<TaskRequirement>("--label-offset N", "Number to add to every label (default: 0)")
        .by_hand("0")
        .python("label_offset", kDiagnosing, "number to add to every label.")
        .typed("int", "0"),
    row<TaskRequirement>("--min-top1 P", "Top-1 accuracy of at least P, 0 to 1 (default: none)")
        .python("min_top1", kDiagnosing, "minimum top-1 accuracy against ``labels``, 0 to 1.")
        .common()
        .typed("float | None", "None"),
    row<TaskRequirement>("--min-top5 P", "Top-5 accuracy of at least P, 0 to 1 (default: none)"),
    row<TaskRequirement>("--metric-script FILE.py[:FUNC]",
                         "Your metric: FUNC(outputs, references) returns a number; both are lists with one dict {name: "
                         "array} per sample. It runs in your Python (default: none; default function: metric)")
        .python(
            "metric", kDiagnosing,
            "``metric(outputs, references)`` returns a number, limited by ``min_metric`` or ``max_metric``. Both are "
            "lists of {output: array} over samples: all samples for a verdict, a few for the order of the search.")
        .typed("Callable[..., float] | None", "None"),
    row<TaskRequirement>("--min V", "Minimum of the metric (default: none)")
        .python("min_metric", kDiagnosing, "minimum of ``metric``.")
        .typed("float | None", "None"),
    row<TaskRequirement>("--max V", "Maximum of the metric (default: none)")
        .python("max_metric", kDiagnosing, "maximum of ``metric``.")
        .typed("float | None", "None"));

inline constexpr auto kTask =
    row(&EvalOptions::task, "--task TASK", "classification, detection, segmentation, language or custom")
        .by_hand()
        .python("task", "evaluate",
                "\"classification\" (top-1, top-5), \"detection\" (mAP), \"segmentation\" "
                "(mIoU), \"language\" (perplexity), \"custom\".")
        .common();

/// What is measured.
inline constexpr auto kEvaluation = table(
    "EvalOptions", "Task", kTask,
    row<EvalOptions>("--labels FILE",
                     "The correct answers. Classification: .npy or text, one per sample. Detection: COCO annotations, "
                     "images in the order of the samples. Segmentation: .npy [samples, height, width]. Language: .npy "
                     "[samples, tokens] (default: none; of language: the next tokens of the input)"),
    row(&EvalOptions::label_offset, "--label-offset N",
        "Number to add to every class label; in segmentation, labels below 0 are ignored (default: 0)")
        .python("label_offset", "evaluate check_data", "number to add to each label."),
    row(&EvalOptions::ignored_label, "--ignore-label N", "Segmentation: ignore pixels with this label (default: 255)")
        .python("ignored_label", "evaluate", "segmentation: the label of pixels to ignore."),
    row(&EvalOptions::script, "--metric-script FILE[:FUNC]",
        "Custom: FUNC computes one number from all outputs (default FUNC: metric)"));

inline constexpr auto kDetection = table(
    "EvalOptions", "Detection",
    row(&EvalOptions::boxes, "--boxes FORM",
        "Form of the outputs. yolox: [cells, 5+classes] before decoding. plain: corners [N,4] and scores [N,classes]. "
        "rows: [N,6] with corners, score, class. yolov5: [N,5+classes] with centre, size, objectness, classes. yolov8: "
        "[4+classes,N] with centre, size, classes (default: yolox)")
        .python("boxes", "evaluate",
                "detection: the form of the outputs: \"yolox\", \"yolov5\", \"yolov8\", \"plain\", \"rows\"."),
    row(&EvalOptions::box_order, "--box-order ORDER",
        "The four numbers of a box: xyxy, yxyx (corners), cxcywh (centre and size), xywh (upper left corner and size) "
        "(default: xyxy; cxcywh for yolov5 and yolov8; yolox has its own)")
        .python("box_order", "evaluate", "\"xyxy\", \"yxyx\", \"cxcywh\", \"xywh\"."),
    row(&EvalOptions::scores, "--scores FUNCTION",
        "Activation that the scores still need: none, sigmoid or softmax (default: none)")
        .python("scores", "evaluate", "activation that the scores still need: \"none\", \"sigmoid\", \"softmax\"."),
    row(&EvalOptions::box_units, "--box-units UNITS",
        "Units of boxes. input: pixels of the network's input; unit: 0 to 1 of it; image: pixels of the image "
        "(default: input)")
        .python("box_units", "evaluate", "\"input\", \"unit\", \"image\"."),
    row(&EvalOptions::fit, "--fit HOW",
        "How images were fitted to the input: letterbox (from the upper left), letterbox-center, stretch (default: "
        "letterbox)")
        .python("fit", "evaluate", "\"letterbox\", \"letterbox-center\", \"stretch\"."),
    row(&EvalOptions::background_classes, "--background-classes N",
        "plain: ignore the first N classes, such as background (default: 0)")
        .from(0, 1000)
        .python("background_classes", "evaluate", "boxes \"plain\": how many of the first classes to ignore."),
    row(&EvalOptions::overlap, "--nms IOU", "Merge boxes of a class that overlap by more, 0 to 1 (default: 0.65)")
        .from(0, 1)
        .python("overlap", "evaluate", "merge boxes of a class that overlap by more, 0 to 1."),
    row(&EvalOptions::least_score, "--min-score S", "Ignore boxes with a lower score (default: 0.01)")
        .python("least_score", "evaluate", "ignore boxes with a lower score."));

inline constexpr auto kLimits =
    table("EvalOptions", "Requirement (on the first figure; default: none)",
          row(&EvalOptions::min, "--min V", "Minimum of the first figure; shares are 0 to 1")
              .python("min_metric", "evaluate", "minimum of the first figure.")
              .common(),
          row(&EvalOptions::max, "--max V", "Maximum of the first figure, for perplexity")
              .python("max_metric", "evaluate",
                      "maximum. A larger value of your own metric is better, unless you pass only ``max_metric``."),
          row(&EvalOptions::max_loss, "--max-loss V", "With --against: the largest accepted loss against that model")
              .python("max_loss", "evaluate", "largest accepted loss against ``against``.")
              .common());

}  // namespace vernier::table
