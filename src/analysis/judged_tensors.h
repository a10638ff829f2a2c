// Where the error of a judged output tells most.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/run_tensors.h"
#include "analysis/subject.h"
#include "model/model.h"

namespace vernier {

/// A judged output, and the Softmax that makes it, directly or behind layers that only move values.
struct JudgedTensor {
  std::string output;
  std::string softmax;  // empty: none

  /// What it is judged by in `model`, the subject's own or one lowered from it: behind a Softmax an error is as large
  /// as its sample is undecided, so that a few samples hold all the noise and what a range does to the others does not
  /// show. In front of it every sample counts.
  std::string name_in(const Model& model) const {
    for (const onnx::NodeProto& node : model.proto.graph().node()) {
      if (!softmax.empty() && node.name() == softmax) return node.input(0);
    }
    return output;
  }
};

/// Of the subject's judged outputs, in their order.
std::vector<JudgedTensor> judged_tensors(const Subject& subject);

/// Runs `model`, the subject's own or one lowered from it, over `order`: the tensors of `judged`, in their order.
void run_judged(const Subject& subject, const std::vector<JudgedTensor>& judged, Model model,
                const std::vector<std::size_t>& order, const VisitTensors& visit);

}  // namespace vernier
