// The options of a search for layers to keep, shared by diagnose, debug precision and the older precision commands.
#pragma once

#include <filesystem>
#include <string>

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
  /// Writes --pareto-csv and --pareto-svg.
  std::string pareto_csv, pareto_svg;

 private:
  bool wants_pareto() const { return pareto_ || !pareto_csv.empty() || !pareto_svg.empty(); }

  SearchMode fixed_mode_ = SearchMode::Minimal;
  std::string mode_, direction_ = "forward", top_ = "5", cost_ = "layers", max_evaluations_ = "0", budget_, golden_;
  std::string confidence_ = "1";
  std::string journal_;
  Option journal_given_;
  bool resume_ = false, prove_minimum_ = false, pareto_ = false, no_minimal_ = false, whole_groups_ = false;
};

}  // namespace vernier::cli
