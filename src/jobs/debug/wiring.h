// From which tensors the layers of a quantized file are computed, against the float model, whatever pairs, casts and
// copies lie between.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "analysis/match_layers.h"
#include "analysis/subject.h"
#include "plan/simulate_typed.h"

namespace vernier {

/// What the file computes differently at a node of it, in words.
struct Difference {
  std::string node, text;
};

/// Cost of each question: linear in the nodes between matched tensors.
class Wiring {
 public:
  Wiring(const Subject& subject, const SimulatedFile& file, const LayerMatches& matches);

  /// A layer that reads another matched tensor or graph input than its twin, one more, or one less. `computing`: the
  /// node of the file that stands for the layer. Shapes are no sources. Nothing where a body hides what is read.
  std::optional<Difference> other_sources(const Match& match, const std::string& computing) const;

  /// "Sub 'y' reads 'x', 'r' in this order, in the float model 'r', 'x'"; empty: in the same order, or it does not
  /// matter.
  std::string other_order(const Match& match, const onnx::NodeProto& ref, const onnx::NodeProto& low) const;

 private:
  /// Each with the node that reads it.
  struct Sources {
    std::map<std::string, const onnx::NodeProto*> readers;
    std::set<std::string> seen;
    bool known = true;
  };
  std::string base_of(std::string tensor) const;
  std::string target_of(const Match& match) const { return base_of(match.low); }
  void collect_of_ref(const std::string& tensor, const std::string& target, const onnx::NodeProto* reader,
                      Sources& found) const;
  void collect_of_low(const std::string& tensor, const std::string& target, const onnx::NodeProto* reader,
                      Sources& found) const;
  std::string name_of(const std::string& source) const;

  Makers ref_made_, low_made_;
  std::set<std::string> ref_constants_, low_constants_;
  std::map<std::string, std::string> twins_;  // tensor of the float model -> source
  std::map<std::string, std::string> names_;  // source -> tensor of the float model
};

}  // namespace vernier
