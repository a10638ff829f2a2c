#include "jobs/debug/implied_clamps.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "analysis/isolated.h"
#include "analysis/match_layers.h"
#include "numerics/grid.h"
#include "vernier/format.h"

namespace vernier {
namespace {

constexpr double kAgreesWithClampDb = 30;
constexpr std::size_t kMostClamps = 4, kMostTensorsOfLayer = 64;

/// The tensors that pairs make, by the tensor that a match compares: those between it and other matches.
std::vector<std::string> pairs_behind(const Makers& made_by, const std::map<std::string, Bounds>& pairs,
                                      const std::set<std::string>& matched, const std::string& target) {
  std::vector<std::string> found, open = {target};
  std::set<std::string> seen;
  for (std::size_t next = 0; next < open.size() && next < kMostTensorsOfLayer; ++next) {
    const std::string tensor = open[next];
    if ((next > 0 && matched.contains(tensor)) || !seen.insert(tensor).second) continue;
    if (pairs.contains(tensor) && found.size() < kMostClamps) found.push_back(tensor);
    const auto made = made_by.find(tensor);
    if (made != made_by.end()) open.insert(open.end(), made->second->input().begin(), made->second->input().end());
  }
  return found;
}

}  // namespace

bool add_implied_clamps(const Subject& subject, const SimulatedFile& file, const std::vector<Match>& matches,
                        const std::vector<std::optional<ErrorStats>>& exact,
                        const std::map<std::string, Bounds>& dropped, FloatValues& values) {
  std::map<std::string, Bounds> pairs;
  for (const QuantizedTensor& pair : file.quantized) {
    const bool clamps = !pair.quantizer.empty() && pair.params.scale.size() == 1 && is_integer(pair.params.format);
    if (clamps && !dropped.contains(pair.output)) pairs[pair.output] = ends_of(pair.params);
  }
  const Makers made_by = makers_in(file.model);
  std::set<std::string> matched;
  for (const Match& match : matches) matched.insert(match.low);
  std::map<std::size_t, std::vector<std::string>> behind;  // by match
  std::size_t most = 0;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (!exact[i] || sqnr_db(*exact[i]) >= kAgreesWithClampDb) continue;
    behind[i] = pairs_behind(made_by, pairs, matched, matches[i].low);
    most = std::max(most, behind[i].size());
  }
  std::set<std::string> found;
  for (std::size_t k = 0; k < most; ++k) {
    FloatValues trial = values;
    for (const auto& [match, tensors] : behind) {
      if (k < tensors.size()) trial.activations.emplace(tensors[k], pairs.at(tensors[k]));
    }
    const auto nothing = [](std::size_t) { return false; };
    const auto errors = isolated_errors(subject, with_float_values(file, trial, nothing), matches);
    for (const auto& [match, tensors] : behind) {
      if (k < tensors.size() && errors[match] && sqnr_db(*errors[match]) >= kAgreesWithClampDb)
        found.insert(tensors[k]);
    }
  }
  for (const std::string& tensor : found) values.activations.emplace(tensor, pairs.at(tensor));
  return !found.empty();
}

}  // namespace vernier
