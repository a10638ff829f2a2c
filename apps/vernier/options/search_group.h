// The options of a search for layers to keep, shared by diagnose, debug precision and the older precision commands.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "options/rows.h"
#include "options/syntax.h"
#include "vernier/search_options.h"

namespace vernier::cli {

class SearchGroup {
 public:
  /// Limits, cost, journal, proof, curve: whatever the mode.
  void add(CLI::App& app);
  /// --mode minimal|bisect|linear|worst-first, --direction forward|reverse, --top N.
  void add_modes(CLI::App& app);
  /// The older form: the mode is the command's, --mode is the direction. `top`: the command adds N layers at a time.
  void add_direction_as_mode(CLI::App& app, SearchMode mode, bool top);
  /// --golden FILE.
  void add_golden(CLI::App& app);

  /// `journals`: the folder where trials go unless said otherwise; empty: nowhere. Errors: Usage.
  SearchOptions values(const std::filesystem::path& journals) const;
  bool has_ladder() const { return texts_.given("--ladder"); }
  const std::string& pareto_csv() const { return texts_.last("--pareto-csv"); }
  const std::string& pareto_svg() const { return texts_.last("--pareto-svg"); }

 private:
  std::optional<SearchMode> fixed_mode_;  // of the older commands
  Texts texts_;
};

}  // namespace vernier::cli
