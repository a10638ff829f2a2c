#include "options/search_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "table/search.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"

namespace vernier::cli {
namespace {

/// "50" evaluations, or "90s", "10m", "2h".
struct Budget {
  std::size_t evaluations = 0;
  double seconds = 0;
};

Budget parse_budget(const std::string& text) {
  if (text.empty()) return {};
  constexpr std::array<std::pair<char, double>, 3> kUnits{{{'s', 1}, {'m', 60}, {'h', 3600}}};
  for (const auto& [unit, unit_seconds] : kUnits) {
    if (text.back() != unit) continue;
    const double count = parse_number("--budget", text.substr(0, text.size() - 1));
    if (!(count > 0))
      throw Error(ErrorCode::BadValue, fmt::format("--budget: {} is not a time", printable(text)), "10m");
    return {0, count * unit_seconds};
  }
  return {parse_count("--budget", text, 1, 1'000'000'000), 0};
}

}  // namespace

void SearchGroup::add(CLI::App& app) { add_rows(app, table::kSearch, texts_); }

void SearchGroup::add_modes(CLI::App& app) { add_rows(app, table::kSearchModes, texts_); }

void SearchGroup::add_direction_as_mode(CLI::App& app, SearchMode mode, bool top) {
  fixed_mode_ = mode;
  add_row(app, table::kDirectionAsMode, table::kSearch.group, texts_);
  if (top) add_row(app, table::kLayersAtATime, table::kSearch.group, texts_);
  add_row(app, table::kNoMinimalAlone, table::kSearch.group, texts_);
}

void SearchGroup::add_golden(CLI::App& app) { add_rows(app, table::kGolden, texts_); }

SearchOptions SearchGroup::values(const std::filesystem::path& journals) const {
  SearchOptions options;
  read_rows(table::kSearch, texts_, options);
  read_rows(table::kGolden, texts_, options);
  if (fixed_mode_) {
    options.mode = *fixed_mode_;
    read_rows(table::kSearchDirection, texts_, options);
  } else {
    read_rows(table::kSearchModes, texts_, options);
  }
  for (const std::string& text : texts_.all("--ladder")) {
    for (const Format format : parse_format_names("--ladder", text)) {
      if (std::ranges::find(options.ladder, format) != options.ladder.end()) {
        throw Error(ErrorCode::Contradiction, fmt::format("--ladder lists {} twice", format_name(format)),
                    "--ladder int8,int16,float16");
      }
      options.ladder.push_back(format);
    }
  }
  const bool list = options.mode == SearchMode::Bisect || options.mode == SearchMode::Linear;
  if (options.direction == SearchDirection::Reverse && !list) {
    throw Error(
        ErrorCode::WithoutEffect,
        fmt::format("--direction reverse has no meaning with --mode {}, which does not follow the order of layers",
                    word_of(options.mode)),
        "--mode bisect or --mode linear");
  }
  if (!(options.confidence > 0.5 && options.confidence <= 1)) {
    throw Error(ErrorCode::BadValue,
                fmt::format("--confidence: {} is not above 0.5 and at most 1", texts_.last("--confidence")), "0.99");
  }
  if (options.prove_minimum && options.mode != SearchMode::Minimal) {
    throw Error(ErrorCode::MissingArgument, "--prove-minimum needs --mode minimal: other modes only try lists");
  }
  const Budget budget = parse_budget(texts_.last("--budget"));
  if (budget.evaluations > 0) {
    if (options.max_evaluations > 0) {
      throw Error(ErrorCode::Contradiction, "--budget and --max-evaluations both limit the number of evaluations",
                  "leave out one of them");
    }
    options.max_evaluations = budget.evaluations;
  }
  options.max_seconds = budget.seconds;
  const std::string& journal = texts_.last("--journal");
  if (journal.empty()) {
    options.journal_folder = journals;
  } else if (journal != "none") {
    options.journal = journal;
  }
  if (options.resume && options.journal.empty() && options.journal_folder.empty()) {
    throw Error(ErrorCode::MissingArgument, "--resume needs the journal of the search that stopped", "--journal FILE");
  }
  options.pareto |= texts_.given("--pareto-csv") || texts_.given("--pareto-svg");
  return options;
}

}  // namespace vernier::cli
