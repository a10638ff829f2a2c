// How often one run computes what stands in the body of a Loop or Scan.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// Valid while `model` is. `shape_of`: shapes that are known; null: none.
class TripCounts {
 public:
  using ShapeOf = std::function<std::optional<Shape>(const std::string& tensor)>;
  explicit TripCounts(const Model& model, ShapeOf shape_of = {});

  /// `holder`: the node whose body holds a layer (Layer::graph), empty for the main graph, which runs once. Bodies
  /// within bodies multiply, and those of an If run once. nullopt: a Loop whose count is no constant or which its
  /// condition may end, or a Scan over a sequence of unknown length.
  std::optional<std::int64_t> of(const std::string& holder) const;

 private:
  std::optional<std::int64_t> trips_of(const onnx::NodeProto& node) const;
  std::optional<Tensor> constant(const std::string& tensor) const;
  bool is_true(const std::string& tensor) const;

  const Model& model_;
  ShapeOf shape_of_;
  std::map<std::string, std::pair<const onnx::NodeProto*, std::string>> nodes_;  // with bodies, and what holds them
  std::map<std::string, const onnx::NodeProto*> makers_;
};

}  // namespace vernier
