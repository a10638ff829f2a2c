#include "plan/repaired_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "model/graph_edit.h"
#include "plan/plan.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"

namespace vernier {

bool RepairedConstant::operator==(const RepairedConstant& other) const {
  return layer == other.layer && values.shape() == other.values.shape() &&
         std::ranges::equal(values.floats(), other.values.floats());
}

Model with_repaired_constants(const Model& model, const Plan& plan) {
  Model repaired = model;
  if (plan.constants.empty()) return repaired;
  const PlannedFormats formats(plan);
  for (const auto& [name, constant] : plan.constants) {
    const Format format = formats.of(constant.layer);
    if (format == Format::Float32 || format == plan.high) continue;
    const std::optional<Tensor> original = initializer(model, name);
    if (!original || original->shape() != constant.values.shape()) {
      throw Error(ErrorCode::OtherModel,
                  fmt::format("the plan repairs the constant '{}' {}, which the model {}", printable(name),
                              shape_text(constant.values.shape()),
                              original ? "has as " + shape_text(original->shape()) : std::string("does not have")),
                  "a plan of `‹vernier fix›` belongs to the float model in its folder");
    }
    set_initializer(repaired, *owner_of_initializer(repaired, name), name, constant.values);
  }
  return repaired;
}

}  // namespace vernier
