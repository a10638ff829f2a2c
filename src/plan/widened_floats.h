// Constants in float16 and bfloat16 as float32.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "numerics/round.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {

/// float16 or bfloat16; absent for other types.
std::optional<Format> low_float(Dtype dtype);

/// The initializers of such a type.
std::vector<std::string> low_initializers(const onnx::GraphProto& graph);

/// Of a format without a scale.
QuantParams grid_of(Format format);

/// The same values. `low`: of a type that low_float() knows.
Tensor widened(const Tensor& low);

/// Weights of a file that is simulated several times: each is widened once, and all simulations share it.
class WidenedWeights {
 public:
  Tensor of(const Tensor& low);

 private:
  struct Known {
    Tensor low;  // held, so that no other weight takes its place
    Tensor wide;
  };
  std::map<const std::byte*, Known> known_;
};

/// Tensors among its attributes, and a low `dtype` that it makes.
void widen_attributes(onnx::NodeProto& node);

}  // namespace vernier
