// How much ONNX Runtime may change a graph before it runs it.
#pragma once

#include <span>
#include <string_view>

#include "vernier/export.h"
#include "vernier/words.h"

namespace vernier {

/// Its own words: "ORT_DISABLE_ALL", "ORT_ENABLE_BASIC",
/// "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL".
enum class GraphOptimization { DisableAll, EnableBasic, EnableExtended, EnableAll };
VERNIER_API std::span<const std::string_view> words_of(GraphOptimization which);

}  // namespace vernier
