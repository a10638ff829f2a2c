// Which layers a user wants quantized: operator types, names, and parts of the graph (vernier/quantization.h).
#pragma once

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "model/layers.h"
#include "vernier/quantization.h"

namespace vernier {

/// Names, shell wildcards, or a regular expression between slashes, which may match anywhere in a name.
class NamePatterns {
 public:
  /// `option` for messages. Errors: Usage for a regular expression that is none.
  NamePatterns(const std::vector<std::string>& texts, const std::string& option);

  bool empty() const { return patterns_.empty(); }
  bool match(const std::string& name) const;
  /// Errors: Usage when one of the texts matches none of `names`, offering the nearest; unless `may_be_absent` says of
  /// it that another network has it.
  void require_matches(const std::vector<std::string>& names, const std::string& what,
                       bool (*may_be_absent)(const std::string&) = nullptr) const;

 private:
  struct Pattern {
    std::string text;
    bool is_regex = false;
    std::regex regex;
    bool match(const std::string& name) const;
  };
  std::string option_;
  std::vector<Pattern> patterns_;
};

class Selection {
 public:
  /// Errors: Usage for a name or tensor that the model does not have, and a subgraph without a ':'.
  Selection(const Model& model, const std::vector<Layer>& layers, const LayerSelection& selection);

  /// Empty when the layer is selected.
  std::string why_not(const Layer& layer) const;

 private:
  const LayerSelection& selection_;
  NamePatterns op_types_, excluded_op_types_;
  NamePatterns nodes_, excluded_nodes_;
  std::set<std::string> inside_;  // layers of the subgraphs
};

}  // namespace vernier
