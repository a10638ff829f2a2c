#include "model/sample_shapes.h"

#include <algorithm>
#include <cstdint>

#include "model/graph_edit.h"
#include "model/type_protos.h"

namespace vernier {

std::map<std::string, Shape> shapes_for(const Model& model, const Sample& sample) {
  Model shaped = model;
  std::map<std::string, Shape> shapes;
  for (const InputInfo& input : model_inputs(shaped)) {
    if (const auto given = sample.find(input.name); given != sample.end()) shapes[input.name] = given->second.shape();
  }
  override_input_shapes(shaped, {shapes.begin(), shapes.end()}, "");
  for (const auto& [tensor, type] : infer_types(shaped)) {
    const bool known = type.rank_known && std::ranges::none_of(type.shape, [](std::int64_t size) { return size < 0; });
    if (known) shapes[tensor] = type.shape;
  }
  return shapes;
}

}  // namespace vernier
