// Masks in outputs: finite constants such as -1e9 that stand for "never", put there by a Where, an Add or a ScatterND.
// Their energy would hide all other values in one pooled figure, which is why these are judged by themselves too.
// Infinities need nothing of this: sums leave them out.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/output_part.h"
#include "model/model.h"
#include "numerics/histogram.h"
#include "vernier/tensor.h"

namespace vernier {

/// What the graph says of one output: whether it may hold a mask at all.
struct MaskSuspect {
  std::vector<float> constants;  // magnitudes of constants behind its last layer with weights
  bool reads_inputs = false;     // an input of the network is added to it, which may be a mask
  bool varies = false;           // data may decide whether a sample has masked values
  bool suspected() const { return varies || reads_inputs || !constants.empty(); }
};

/// Of an output of `model`, which is prepared: its constants are folded. Cost: a walk over at most 64 nodes.
MaskSuspect mask_suspect(const Model& model, const std::string& output);

/// A mask in the values of an output.
struct OutputMask {
  float low = 0, high = 0;  // ends of the values of the mask
  double share = 0;         // of all finite values
  MaskLimit limit = {};
};

/// The values of a suspected output, and the mask among them.
class MaskSearch {
 public:
  explicit MaskSearch(MaskSuspect suspect) : suspect_(std::move(suspect)) {}
  const MaskSuspect& suspect() const { return suspect_; }
  void add(const Tensor& values);
  std::optional<OutputMask> found() const;

 private:
  MaskSuspect suspect_;
  ValueHistogram seen_;
};

}  // namespace vernier
