// Where the channels of a stream lie in tensors that are only moved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/model.h"
#include "repairs/stream_graph.h"

namespace vernier {

/// Where the channels are behind a node that only moves values, from where they are in front of it, and back.
class ChannelAxis {
 public:
  ChannelAxis(const StreamGraph& graph, std::int64_t width) : graph_(graph), width_(width) {}

  /// True for operators that move values, average them over other axes, or join them.
  static bool moves(const onnx::NodeProto& node);

  /// Distance of the channels from the end in the result, or in the input.
  std::optional<int> ahead(const onnx::NodeProto& node, int from_end) const { return go(node, from_end, true); }
  std::optional<int> back(const onnx::NodeProto& node, int from_end) const { return go(node, from_end, false); }

 private:
  std::optional<int> go(const onnx::NodeProto& node, int from_end, bool forward) const;

  /// Negative axes need no rank; others do.
  std::optional<int> axis_from_end(const std::string& tensor, std::int64_t axis) const;

  std::optional<int> transposed(const onnx::NodeProto& node, int from_end, bool forward) const;

  std::optional<int> sliced(const onnx::NodeProto& node, int from_end) const;

  std::optional<int> gathered(const onnx::NodeProto& node, int from_end, bool forward) const;

  /// The values keep their order: as many follow each channel as before.
  std::optional<int> reshaped(const onnx::NodeProto& node, int from_end, bool forward) const;

  /// A tensor of unknown size has the channels last: what makes it or reads it says so.
  std::optional<int> confirmed(const std::string& tensor) const;

  const StreamGraph& graph_;
  const std::int64_t width_;
};

}  // namespace vernier
