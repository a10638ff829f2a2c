// Why layers break in low precision, in words with numbers, and what was tried to repair them: values of the report.
// A value that was not measured is absent, never zero. "none found" is an answer: a layer that was examined and has no
// cause.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"

namespace vernier {

/// One number that a cause rests on.
struct CauseFigure {
  std::string name;  // in words: "largest magnitude", "largest of float16"
  double value = 0;
  std::string unit;  // "dB", "%", "x"; empty: the tensor's own unit, or a count
};

/// One reason why a layer is inaccurate.
struct Cause {
  std::string id;      // stable, in words with dashes: "absorption", "weight-grid"
  std::string layer;   // the layer to change; empty: the network as a whole ("diffuse")
  std::string tensor;  // whose values show it; empty: no single one
  /// 0 to 1: how surely the figures mean this cause and no other; a rank, not a probability.
  double confidence = 0;
  std::vector<CauseFigure> figures;  // what triggered it
  std::string sentence;              // for the user: what happens, with the numbers, one sentence or two
  std::vector<std::string> repairs;  // ids of repairs that answer it, cheapest first; the last is "keep-high"
  /// Of all layers' damage, that its layer does, in the network that was examined; if an engine adds to it, of both
  /// together. Infinite: the layer alone makes an output infinite or NaN.
  std::optional<double> share{};
};

/// A cause that diagnose() looks for.
struct CauseName {
  std::string_view id;
  std::string_view formats;  // "FP16, BF16", "INT8, UINT8, FP8", "all"
  std::string_view text;     // one line for people
};

/// All of them: of layers in the order in which they are asked, then those of the network.
VERNIER_API std::vector<CauseName> cause_names();

/// What the error of one layer's result is made of, as shares of its noise power; what is absent was not measured.
/// Formats with a scale: weights + activations = 1 (each measured with only that side rounded, scaled to sum to 1), and
/// clipping + rounding = 1 (of the activations' own error). `inherited` is the share of error that arrives with the
/// inputs, when everything before is low too, in the error of the result then.
struct Blame {
  std::string layer;
  std::optional<double> weights;
  std::optional<double> activations;
  std::optional<double> clipping;
  std::optional<double> rounding;
  std::optional<double> accumulation;  // of sums in the low format; absent where products are summed in float32
  std::optional<double> inherited;
};

/// One repair that was tried on one layer, or on a group of layers that change together.
struct RepairTried {
  std::string id;                    // "weight-grid"
  std::vector<std::string> layers;   // those it changes
  std::optional<double> before_db;   // SQNR of the layer's own result without it, on exact inputs
  std::optional<double> after_db;    // with it
  std::optional<double> neutral_db;  // algebraic ones: SQNR of the float32 outputs with it against without
  bool accepted = false;             // the layer's error power, or the output's, fell by 20 percent or more
  std::string why;                   // why not; or what was done: "step 0.0344 in place of 0.0404"
};

struct Explanation {
  std::vector<std::string> examined;   // layers that were looked at: kept ones, and those that do the most damage
  std::vector<std::string> ordinary;   // examined ones without a cause that lose what their format costs anywhere
  std::vector<Cause> causes;           // of one kind together, the kind that explains the most damage first
  std::vector<Blame> blame;            // one for each examined layer
  std::vector<RepairTried> repairs;    // empty: none was tried (vernier fix tries them)
  std::vector<std::string> proposals;  // ids of repairs that `vernier fix` would try, in its order
  std::size_t samples = 0;             // that the figures rest on
};

}  // namespace vernier
