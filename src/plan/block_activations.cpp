#include "plan/block_activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/format_definition.h"

namespace vernier {

std::string refused_block_activation(const ValueType& type, Format format) {
  constexpr std::string_view kCompiled = "(compiled, TensorRT-RTX 1.7.1)";
  if (!type.rank_known) return {};
  const std::size_t rank = type.shape.size();
  if (rank != 2 && rank != 3) {
    return fmt::format("its data has {} dimensions, and TensorRT quantizes data of 2 or 3 in blocks {}", rank,
                       kCompiled);
  }
  const Shape& shape = type.shape;
  if (shape.back() != definition_of(format).block) return {};
  const bool scaled_bytes = format == Format::MxFp8;
  if (scaled_bytes && rank == 2) {
    return fmt::format("a row of its data is one block, and TensorRT's compiler fails on that in MXFP8 {}", kCompiled);
  }
  // NVFP4 builds where an open dimension is 1; in MXFP8 the compiler crashes there.
  const auto may_be_one = [&](std::int64_t size) { return size == 1 || (scaled_bytes && size < 0); };
  if (!std::all_of(shape.begin(), shape.end() - 1, may_be_one)) return {};
  return fmt::format("its data can be one block, and TensorRT refuses a single scale for a block {}", kCompiled);
}

}  // namespace vernier
