// Commands in a report: the words of one, and what the next one takes over from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/requirement.h"

namespace vernier {

/// Words as a shell reads them, quotes and all.
std::vector<std::string> words_in(const std::string& command);

/// The options of `command` that say which samples there are and how they are read: "--data photos --image
/// letterbox:416"; empty if it has none.
std::string data_options(const std::string& command);

/// The same of those that say what is measured, for which engine, and what decides beside a limit: "--target openvino
/// --outputs logits".
std::string judging_options(const std::string& command);

/// " --min-sqnr 20 --outputs logits": those, behind the limits of `requirement`; empty if there are none.
std::string same_judging(const std::string& command, const std::optional<Requirement>& requirement);

}  // namespace vernier
