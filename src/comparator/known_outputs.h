// Outputs that settings name, which one of the compared runs must have.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vernier/comparison.h"

namespace vernier {

/// Names of outputs in settings, each behind the option that it came by.
using NamedOutputs = std::vector<std::pair<std::string, std::string>>;

template <class T>
void collect(const std::string& option, const PerOutput<T>& setting, NamedOutputs& named) {
  for (const auto& entry : setting.own) named.emplace_back(option, entry.first);
}

/// Errors: Usage if neither `got` nor `ref` has one of them, with the nearest names.
void require_outputs(const NamedOutputs& named, const Iteration& got, const Iteration& ref);

}  // namespace vernier
