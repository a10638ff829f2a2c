// How long each node of a model takes on ONNX Runtime's own kernels, by the runtime's profiler.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engines/onnxruntime/session.h"
#include "model/model.h"
#include "vernier/samples.h"

namespace vernier {

class Runtime;

/// A node that ran, under the name that the runtime has for it: of a fused kernel, one of those that it computes.
struct NodeTime {
  std::string node, op_type;
  double microseconds = 0;  // median
};

/// Of `runs` runs of `model` on `sample`, in the order in which nodes first ran. `options.profile` is set here.
/// Errors: Backend when the runtime gives no profile; as Session.
std::vector<NodeTime> node_times(const std::shared_ptr<const Runtime>& runtime, const Model& model,
                                 SessionOptions options, const Sample& sample, std::size_t runs);

}  // namespace vernier
