#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/refuse.h"
#include "base/text.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/error.h"
#include "vernier/measure.h"
#include "vernier/requirement.h"

namespace vernier::cli {
namespace {

struct MetricHelp {
  Metric metric;
  const char* value_name;
  const char* help;
};

// A new metric is one line here and one in the library's table.
constexpr MetricHelp kHelp[] = {
    {Metric::MinSqnrDb, "DB", "At least DB decibels of SQNR, pooled over samples (any number)"},
    {Metric::MaxAbsError, "E", "No element off by more than E (0 or more, in the output's unit)"},
    {Metric::MaxMse, "E", "Mean squared error of at most E (0 or more, in the output's unit squared)"},
    {Metric::MinCosine, "C", "Cosine similarity of at least C (-1 to 1)"},
    {Metric::MinTop1Agreement, "P", "Largest element at the same place in at least this share of rows (0 to 1)"},
};

constexpr const char* kGroup = "Requirement (one metric; default: none; must hold for each judged output)";

}  // namespace

void RequirementGroup::add(CLI::App& app) {
  rows_.clear();
  for (const MetricHelp& help : kHelp) rows_.push_back({help.metric, {}});
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::string value_name = fmt::format("[OUTPUT:]{}", kHelp[i].value_name);
    add_values(app, fmt::format("--{}", word_of(rows_[i].metric)), rows_[i].texts, value_name, kHelp[i].help)
        .group(kGroup);
  }
  add_value(app, "--margin", margin_, "DB",
            "Room beyond the requirement, in dB of error power: what is met is met with that to spare (default: 0)")
      .group(kGroup);
  add_values(app, "--top1-axis", top1_axes_, "[OUTPUT:]AXIS",
             "Axis along which classes lie, from 0, or from -1 backwards (default: as the graph says)")
      .group(kGroup);
  no_output_parts_ = false;
  add_flag(app, "--no-output-parts", no_output_parts_,
           "Judge each output as a whole (default: parts of different scale, such as boxes and scores, are judged as "
           "well)")
      .group(kGroup);
}

void RequirementGroup::read_into(MeasureOptions& options) const {
  options.requirement = requirement();
  options.output_parts = !no_output_parts_;
  for (const std::string& text : top1_axes_) {
    const std::size_t colon = text.rfind(':');
    const bool named = colon != std::string::npos;
    const std::string number = named ? text.substr(colon + 1) : text;
    int axis = 0;
    const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), axis);
    if (failed != std::errc{} || end != number.data() + number.size()) {
      throw Error(ErrorKind::Usage, fmt::format("--top1-axis: '{}' is no axis: AXIS or OUTPUT:AXIS is wanted", text),
                  "1 for N x classes x H x W, -1 for the last");
    }
    options.top1_axes.emplace_back(named ? text.substr(0, colon) : std::string{}, axis);
  }
}

std::optional<Requirement> RequirementGroup::requirement() const {
  std::optional<Requirement> requirement;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (row.texts.empty()) continue;
    const std::string option = fmt::format("--{}", word_of(row.metric));
    if (requirement) {
      throw Error(ErrorKind::Usage, fmt::format("--{} and {}: only one metric can be required at a time",
                                                word_of(requirement->metric), option));
    }
    requirement = Requirement{row.metric, {}};
    for (const std::string& text : row.texts) {
      Limit limit;
      try {
        limit = parse_limit(text);
      } catch (const Error& error) {
        throw placed(option, error);
      }
      requirement->limits.push_back(limit);
    }
  }
  if (requirement) require_valid(*requirement);
  if (margin_.empty()) return requirement;
  if (!requirement)
    throw Error(ErrorKind::Usage, "--margin: there is no requirement to leave room to", "--min-sqnr DB");
  return with_margin(std::move(*requirement), parse_number("--margin", margin_));
}

}  // namespace vernier::cli
