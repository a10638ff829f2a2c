// Initializers in another format, for typed models: one copy for each initializer and format, shared by all its readers
// and kept in the graph that owns the original, so that bodies share it too. Originals that lost their last reader go.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/progress.h"
#include "model/model.h"
#include "numerics/round.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/target.h"
#include "vernier/tensor.h"

namespace vernier {

/// Written with TensorRT's own operators, which take what ONNX's do not.
inline bool written_for_tensorrt(Format format, Target target) {
  return format == Format::MxFp8 && target == Target::TensorRt;
}

/// Initializers that a DequantizeLinear reads.
struct StoredCodes {
  std::string codes;
  std::string scale;
  std::string zero_point;    // empty: formats with block scales have none
  std::string tensor_scale;  // of nvfp4, whose block scales are codes themselves; else empty
};

class TypedWeights {
 public:
  /// Both live longer than this.
  TypedWeights(Model& model, NamePool& names, Target target, const Progress& progress = {});

  bool holds(const std::string& name) const { return places_.contains(name); }

  /// Name of the copy of `name` in float16 or bfloat16. Values that become infinite there are reported in notes() as
  /// used by `layer`; nothing is clamped.
  std::string in_format(const std::string& name, Format format, const std::string& layer);

  /// The codes of `name` under `params`, with scale and zero point beside them. `values`: the type of the scale, which
  /// a DequantizeLinear gives its values in.
  const StoredCodes& in_codes(const std::string& name, const QuantParams& params, Format values = Format::Float32);

  /// The int32 codes of a bias under `scales`, for one reader; there is no zero point.
  StoredCodes bias_in_codes(const std::string& name, const std::vector<float>& scales);

  /// Adds scale and zero point of `tensor` to `graph`.
  StoredCodes add_params(onnx::GraphProto& graph, const std::string& tensor, const QuantParams& params,
                         Format values = Format::Float32);

  /// Adds a float32 scalar; its name.
  std::string add_scale(onnx::GraphProto& graph, const std::string& name, float scale);

  /// Removes originals that were replaced and that nothing reads any more.
  void remove_unused();

  std::vector<Note> take_notes() { return std::move(notes_); }

 private:
  Tensor value_of(const std::string& name) const;
  bool scales_as_bytes(Format format) const { return written_for_tensorrt(format, target_); }
  Model& model_;
  NamePool& names_;
  Target target_;
  struct Place {
    onnx::GraphProto* graph = nullptr;
    const onnx::TensorProto* tensor = nullptr;  // stays where it is while others are added
  };
  std::map<std::string, Place> places_;
  std::map<std::pair<std::string, Format>, std::string> copies_;
  std::map<std::tuple<std::string, Format, Format>, StoredCodes> codes_;  // by name, grid and values
  std::set<std::string> stored_biases_;                                   // originals of biases in codes
  std::map<std::pair<std::string, Format>, Note> overflows_;              // reported for each layer that reads the copy
  std::vector<Note> notes_;
  WeightsProgress stored_;
};

/// ONNX element type of a format.
Dtype dtype_of_format(Format format);

/// Names that `graph` and the bodies inside it read but do not make themselves.
std::vector<std::string> captured_names(const onnx::GraphProto& graph);

}  // namespace vernier
