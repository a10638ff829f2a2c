#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/refuse.h"
#include "base/text.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/rows.h"
#include "table/measure.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/measure.h"
#include "vernier/requirement.h"

namespace vernier::cli {

void RequirementGroup::add(CLI::App& app) {
  add_rows(app, table::kRequirement, texts_);
  add_rows(app, table::kJudged, texts_);
  add_row(app, table::kOutputs, table::kJudged.group, texts_);
}

void RequirementGroup::read_into(MeasureOptions& options) const {
  options.requirement = requirement();
  read_rows(table::kJudged, texts_, options);
  read_value(table::kOutputs, texts_, options.outputs);
  for (const std::string& text : texts_.all("--top1-axis")) {
    const std::size_t colon = text.rfind(':');
    const bool named = colon != std::string::npos;
    const std::string number = named ? text.substr(colon + 1) : text;
    int axis = 0;
    const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), axis);
    if (failed != std::errc{} || end != number.data() + number.size()) {
      throw Error(ErrorCode::BadValue, fmt::format("--top1-axis: '{}' is not AXIS or OUTPUT:AXIS", text),
                  "1 for N x classes x H x W, -1 for the last");
    }
    options.top1_axes.emplace_back(named ? text.substr(0, colon) : std::string{}, axis);
  }
}

std::optional<Requirement> RequirementGroup::requirement() const {
  std::optional<Requirement> requirement;
  for (const std::string_view word : words_of(Metric{})) {
    const std::string option = fmt::format("--{}", word);
    if (!texts_.given(option)) continue;
    if (requirement) {
      throw Error(ErrorCode::Contradiction, fmt::format("--{} and {}: only one metric can be required at a time",
                                                        word_of(requirement->metric), option));
    }
    requirement = Requirement{*parse_word<Metric>(word), {}};
    for (const std::string& text : texts_.all(option)) {
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
  if (!texts_.given("--margin")) return requirement;
  if (!requirement) throw Error(ErrorCode::MissingArgument, "--margin needs a requirement", "--min-sqnr DB");
  return with_margin(std::move(*requirement), parse_number("--margin", texts_.last("--margin")));
}

}  // namespace vernier::cli
