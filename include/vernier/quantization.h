// What may be chosen about quantization beside the formats of layers: the knobs of `vernier quantize`. The defaults are
// what every other command does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/format.h"

namespace vernier {

struct QuantizationRules {
  /// Weights alone are stored in the low format, and the layer computes in the high one; int4, uint4, mxfp4 and
  /// mxfp8e5m2 always do.
  bool weights_only = false;
  /// int4, uint4: neighbours along the dimension that is summed over that share a scale, 32, 64 or 128; halved down to
  /// 32 until it divides that dimension.
  int block_size = 128;
  /// int16 and uint16: bits of the weights, 8 or 4; those of 4 bits lie in blocks.
  int weight_bits = 8;
  bool weights_per_channel = true;  // false: one scale for each weight
  /// Ranges of activations around zero; absent: as the target does it.
  std::optional<bool> symmetric_activations;
  /// Biases in 32-bit codes; absent: as the target does it.
  std::optional<bool> integer_bias;
  /// Weights stay float32 with a QuantizeLinear and a DequantizeLinear behind; false: codes with the latter alone.
  bool paired_weights = false;
  /// Weights in int8 use codes up to 63 of 127, so that two products of them and uint8 data fit into 16 bits: for ONNX
  /// Runtime on x86 CPUs without VNNI. Costs one bit of the weights.
  bool reduce_range = false;
  /// float16, bfloat16, float8e4m3fn or int8: the format of KV caches, each a layer of its own that a search may keep
  /// in the high format. Absent: caches have the formats of the layers that make and read them.
  std::optional<Format> kv_cache;

  bool operator==(const QuantizationRules&) const = default;
};

/// Which layers may take a format with a scale. A text is a name, shell wildcards, or a regular expression between
/// slashes: "/blocks\.[0-3]\./". Everything that is given must hold.
struct LayerSelection {
  std::vector<std::string> op_types, excluded_op_types;  // names only; empty: all
  std::vector<std::string> nodes, excluded_nodes;        // empty: all
  /// INPUTS:OUTPUTS: tensors, each list with commas; layers that data of one of the inputs reach and that reach one of
  /// the outputs. An empty list stands for the inputs or outputs of the graph. Several are added up.
  std::vector<std::string> subgraphs;

  bool all() const {
    return op_types.empty() && excluded_op_types.empty() && nodes.empty() && excluded_nodes.empty() &&
           subgraphs.empty();
  }
};

}  // namespace vernier
