// Keys of the findings about Q/DQ pairs that several reports hold (json/field.h).
#pragma once

#include <tuple>

#include "json/fields.h"
#include "vernier/report/debug_loss.h"

namespace vernier {

template <>
struct Fields<FoundDefect> {
  using R = FoundDefect;
  static constexpr auto list = std::tuple{Field{"kind", &R::kind}, Field{"node", &R::node}, Prose{"text", &R::text}};
};

}  // namespace vernier
