#include "options/score_group.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/error.h"

namespace vernier::cli {

void ScoreGroup::add(CLI::App& app) {
  const char* const task = "Task (in the place of a requirement)";
  add_value(app, "--labels", labels_, "FILE",
            "Right classes, one a sample: .npy of whole numbers, or text with one a line (default: none)")
      .group(task);
  add_value(app, "--label-offset", label_offset_, "N", "Added to every label (default: 0)").group(task);
  add_value(app, "--min-top1", min_top1_, "P",
            "Share of samples whose largest score is the label's, 0 to 1 (default: none)")
      .group(task);
  add_value(app, "--min-top5", min_top5_, "P",
            "Share whose label is among the five largest scores, 0 to 1 (default: none)")
      .group(task);
  add_value(app, "--metric-script", metric_script_, "FILE.py[:FUNC]",
            "FUNC(outputs, references) -> number, of lists with one dict {name: array} a sample; run in your Python "
            "(default: none; default function: metric)")
      .group(task);
  add_value(app, "--min", metric_min_, "V", "The number must be at least V (default: none)").group(task);
  add_value(app, "--max", metric_max_, "V", "The number must be at most V (default: none)").group(task);
}

bool ScoreGroup::any_labels() const {
  return !labels_.empty() || !min_top1_.empty() || !min_top5_.empty() || label_offset_ != "0";
}

TaskRequirement ScoreGroup::values() const {
  if (any_labels() && any_metric()) {
    throw Error(ErrorKind::Usage, "--labels and --metric-script: only one can decide", "leave out one of the two");
  }
  TaskRequirement task;
  if (any_labels()) task.labels = labels();
  if (any_metric()) task.metric = metric();
  return task;
}

LabelRequirement ScoreGroup::labels() const {
  if (labels_.empty()) {
    throw Error(ErrorKind::Usage, "--min-top1, --min-top5 and --label-offset need --labels FILE");
  }
  if (min_top1_.empty() == min_top5_.empty()) {
    throw Error(ErrorKind::Usage, "--labels need one of --min-top1 P and --min-top5 P");
  }
  LabelRequirement wanted;
  wanted.labels = labels_;
  wanted.top = min_top1_.empty() ? 5 : 1;
  const char* option = min_top1_.empty() ? "--min-top5" : "--min-top1";
  wanted.min_share = parse_number(option, min_top1_.empty() ? min_top5_ : min_top1_);
  if (wanted.min_share < 0 || wanted.min_share > 1) {
    throw Error(ErrorKind::Usage, fmt::format("{}: {} is not in [0, 1]", option, wanted.min_share),
                hint_of_percent(option, wanted.min_share));
  }
  const double offset = parse_number("--label-offset", label_offset_);
  if (offset != std::floor(offset) || std::abs(offset) > 1e9) {
    throw Error(ErrorKind::Usage, fmt::format("--label-offset: {} is no whole number", label_offset_));
  }
  wanted.offset = static_cast<std::int64_t>(offset);
  return wanted;
}

MetricScript ScoreGroup::metric() const {
  if (metric_script_.empty()) throw Error(ErrorKind::Usage, "--min and --max need --metric-script FILE.py");
  if (metric_min_.empty() && metric_max_.empty()) {
    throw Error(ErrorKind::Usage, "--metric-script: what its value must be is missing", "--min V, --max V, or both");
  }
  MetricScript wanted;
  wanted.script = metric_script_;
  if (!metric_min_.empty()) wanted.min = parse_number("--min", metric_min_);
  if (!metric_max_.empty()) wanted.max = parse_number("--max", metric_max_);
  return wanted;
}

}  // namespace vernier::cli
