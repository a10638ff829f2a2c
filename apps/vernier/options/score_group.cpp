#include "options/score_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "options/parse_values.h"
#include "table/task.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {

void ScoreGroup::add(CLI::App& app) { add_rows(app, table::kScore, texts_); }

bool ScoreGroup::any_labels() const {
  return std::ranges::any_of(std::array{"--labels", "--min-top1", "--min-top5", "--label-offset"},
                             [&](const char* option) { return texts_.given(option); });
}

bool ScoreGroup::any_metric() const { return any_script() || texts_.given("--min") || texts_.given("--max"); }

TaskRequirement ScoreGroup::values() const {
  if (any_labels() && any_metric()) {
    throw Error(ErrorCode::Contradiction, "--labels and --metric-script: only one can decide",
                "leave out one of the two");
  }
  TaskRequirement task;
  if (any_labels()) task.labels = labels();
  if (any_metric()) task.metric = metric();
  return task;
}

LabelRequirement ScoreGroup::labels() const {
  if (!texts_.given("--labels")) {
    throw Error(ErrorCode::MissingArgument, "--min-top1, --min-top5 and --label-offset need --labels FILE");
  }
  if (texts_.given("--min-top1") == texts_.given("--min-top5")) {
    throw Error(ErrorCode::MissingArgument, "--labels need one of --min-top1 P and --min-top5 P");
  }
  LabelRequirement wanted;
  wanted.labels = texts_.last("--labels");
  const char* option = texts_.given("--min-top1") ? "--min-top1" : "--min-top5";
  wanted.top = texts_.given("--min-top1") ? 1 : 5;
  wanted.min_share = parse_number(option, texts_.last(option));
  if (wanted.min_share < 0 || wanted.min_share > 1) {
    throw Error(ErrorCode::BadValue, fmt::format("{}: {} is not in [0, 1]", option, wanted.min_share),
                hint_of_percent(option, wanted.min_share));
  }
  if (texts_.given("--label-offset")) {
    const std::string& text = texts_.last("--label-offset");
    const double offset = parse_number("--label-offset", text);
    if (offset != std::floor(offset) || std::abs(offset) > 1e9) {
      throw Error(ErrorCode::BadValue, fmt::format("--label-offset: {} is not a whole number", text));
    }
    wanted.offset = static_cast<std::int64_t>(offset);
  }
  return wanted;
}

MetricScript ScoreGroup::metric() const {
  if (!any_script()) throw Error(ErrorCode::MissingArgument, "--min and --max need --metric-script FILE.py");
  if (!texts_.given("--min") && !texts_.given("--max")) {
    throw Error(ErrorCode::MissingArgument, "--metric-script needs a limit", "--min V, --max V, or both");
  }
  MetricScript wanted;
  wanted.script = texts_.last("--metric-script");
  if (texts_.given("--min")) wanted.min = parse_number("--min", texts_.last("--min"));
  if (texts_.given("--max")) wanted.max = parse_number("--max", texts_.last("--max"));
  return wanted;
}

}  // namespace vernier::cli
