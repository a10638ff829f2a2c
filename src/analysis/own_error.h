// Own error of every layer in one pass: the reference graph, beside each layer a shadow of it in low precision that
// reads the rounded *reference* inputs, and a Compare of both outputs. Upstream stays exact, so each figure is the
// layer's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "engines/onnxruntime/session.h"
#include "plan/lower_simulated.h"
#include "vernier/format.h"

namespace vernier {

struct LayerError {
  std::string layer;
  Format format = Format::Float32;
  ErrorStats error;                  // of all its float outputs, pooled over samples
  std::vector<std::string> tensors;  // where it was measured: those outputs, or its activation's
  /// Over all samples, of its inputs, and of its outputs where they are rounded; in float16 and bfloat16 of its
  /// constants too, once.
  RoundEvents events;
};

/// The shadows alone, added to `model` for the layers named; returns the names of each one's shadow outputs, one for
/// each float output of the layer. Where the plan quantizes a layer's result behind its activation (placement.h), the
/// shadow ends there too. `next_event_slot` null: events are not counted.
struct Shadow {
  const Layer* layer = nullptr;
  std::vector<std::string> outputs;
  std::vector<std::string> tensors;  // what they are to be compared with: the layer's outputs, or its activation's
  std::vector<std::int64_t> event_slots;
  RoundEvents constant_events;  // float16 and bfloat16: of its weights, masks and epsilons
};
std::vector<Shadow> add_shadows(Model& model, const Subject& subject, const Plan& plan,
                                const std::vector<std::string>& layers, RoundedWeights& weights,
                                std::int64_t* next_event_slot);

/// Figures of a graph with shadows that only one number a channel comes out for.
class ShadowFigures {
 public:
  virtual ~ShadowFigures() = default;
  /// Adds what computes them to `model`, in which tensors and shadows bear their names; the float32 tensors to give
  /// out.
  virtual std::vector<std::string> add_to(Model& model, const std::vector<Shadow>& shadows) = 0;
  /// The values of one of those tensors on the next sample.
  virtual void fold(std::size_t tensor, std::span<const float> values) = 0;
};

/// The run of own_error(), its session built. `plan`, `weights` and `beside` are of no use to it any more but for
/// ShadowFigures::fold(); `subject` must outlive it.
class OwnErrorRun {
 public:
  OwnErrorRun(const Subject& subject, const Plan& plan, RoundedWeights& weights,
              const std::vector<std::string>* layers = nullptr, ShadowFigures* beside = nullptr);
  std::vector<LayerError> run(const std::vector<std::size_t>& order) const;

 private:
  /// Where the error of a tensor is measured: that of a shadow.
  struct Place {
    std::size_t shadow;
    std::string low;
    std::int64_t slot;
  };

  const Subject& subject_;
  ShadowFigures* beside_;
  std::size_t figures_ = 0;
  std::vector<LayerError> empty_;  // one for each shadow
  std::vector<std::vector<std::int64_t>> event_slots_;
  std::map<std::string, Place> places_;  // by tensor
  std::int64_t slots_of_events_ = 0;
  std::optional<Session> session_;
};

/// One entry for each layer of the main graph that `plan` runs below float32 and that does arithmetic. Layers inside
/// bodies of If, Loop and Scan have no shadow and are absent.
/// Cost: about 3.5 plain inferences a sample. Memory: does not grow with layers or samples.
/// `order`: the samples to look at; `layers`: those that are measured. Null: all. `beside`: what else the run tells.
std::vector<LayerError> own_error(const Subject& subject, const Plan& plan, RoundedWeights& weights,
                                  const std::vector<std::size_t>* order = nullptr,
                                  const std::vector<std::string>* layers = nullptr, ShadowFigures* beside = nullptr);

}  // namespace vernier
