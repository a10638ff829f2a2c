// Where a graph is cut into segments, so that runs can start at one of them: where few bytes are alive.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// Sizes of tensors by name, as far as they are known.
using TensorBytes = std::map<std::string, std::size_t>;

/// Of float32 tensors of these shapes, and of those that the runtime's optimizer or a Switch put between them and
/// operators that change no size.
TensorBytes bytes_of_tensors(const onnx::GraphProto& graph, const std::map<std::string, Shape>& shapes);

/// The most bytes that are alive at once in a run of `graph`.
std::size_t most_live_bytes(const onnx::GraphProto& graph, const TensorBytes& bytes_of);

/// What a run costs from each node to the outputs, of a run of the whole graph: by nodes, bytes that they write, and
/// products with weights.
std::vector<double> work_from(const onnx::GraphProto& graph, const TensorBytes& bytes_of);

/// First node of each segment: positions in the main graph where few bytes are alive, about evenly spread by work.
/// `bytes_of` gives the size of a tensor and 0 when unknown. Starts with 0.
std::vector<int> segment_starts(const onnx::GraphProto& graph, const TensorBytes& bytes_of, std::size_t segments);

/// Starts for runs that each begin in front of one of `places` (nodes): those that spare them most work for the bytes
/// alive there. `most` starts, with 0, and `most_bytes` at all of them together.
std::vector<int> sparing_starts(const onnx::GraphProto& graph, const TensorBytes& bytes_of,
                                const std::vector<int>& places, std::size_t most, std::size_t most_bytes);

/// Tensors made before node `at` (or graph inputs) that nodes from `at` on, or graph outputs, read.
std::set<std::string> live_at(const onnx::GraphProto& graph, int at);

}  // namespace vernier
