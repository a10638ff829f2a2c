// Own error of every layer in one pass: the reference graph, beside each layer a shadow of it in low precision that
// reads the rounded *reference* inputs, and a Compare of both outputs. Upstream stays exact, so each figure is the
// layer's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
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

inline constexpr const char* kShadow = "own/";

/// The shadows alone, added to `model` for the layers named; returns the names of each one's shadow outputs, one for
/// each float output of the layer. Where the plan quantizes a layer's result behind its activation (placement.h), the
/// shadow ends there too. `next_event_slot` null: events are not counted. `prefix`: of the names of all that is added.
struct Shadow {
  const Layer* layer = nullptr;
  std::vector<std::string> outputs;
  std::vector<std::string> tensors;  // what they are to be compared with: the layer's outputs, or its activation's
  std::vector<std::int64_t> event_slots;
  RoundEvents constant_events;  // float16 and bfloat16: of its weights, masks and epsilons
};
std::vector<Shadow> add_shadows(Model& model, const Subject& subject, const Plan& plan,
                                const std::vector<std::string>& layers, RoundedWeights& weights,
                                std::int64_t* next_event_slot, const std::string& prefix = kShadow);

/// Own errors of some layers in a run of the reference, which may measure other things too.
class OwnErrors {
 public:
  /// Adds the shadows to `model`, a copy of the subject's model where nothing is compared yet. `next_event_slot` and
  /// `prefix` as of add_shadows().
  OwnErrors(Model& model, const Subject& subject, const Plan& plan, RoundedWeights& weights,
            const std::vector<std::string>& layers, std::int64_t* next_event_slot, const std::string& prefix = kShadow);
  const std::vector<Shadow>& shadows() const { return shadows_; }
  /// Adds the comparisons, once all that reads shadows is there; they take slots from `next_error_slot` on.
  void compare_in(Model& model, std::int64_t& next_error_slot);
  /// What all samples gave. After compare_in().
  std::vector<LayerError> of(const Recorder& total) const;

 private:
  /// Where the error of a tensor is measured: that of a shadow.
  struct Place {
    std::size_t shadow;
    std::string low;
    std::int64_t slot;
  };

  std::vector<Shadow> shadows_;
  std::vector<LayerError> empty_;        // one for each shadow
  std::map<std::string, Place> places_;  // by tensor
};

/// The run of own_error(), its session built. `plan` and `weights` are of no use to it any more; `subject` must outlive
/// it.
class OwnErrorRun {
 public:
  OwnErrorRun(const Subject& subject, const Plan& plan, RoundedWeights& weights,
              const std::vector<std::string>* layers = nullptr);
  std::vector<LayerError> run(const std::vector<std::size_t>& order) const;

 private:
  const Subject& subject_;
  std::int64_t error_slots_ = 0, event_slots_ = 0;
  std::optional<OwnErrors> own_;
  std::optional<Session> session_;
};

/// One entry for each layer of the main graph that `plan` runs below float32 and that does arithmetic. Layers inside
/// bodies of If, Loop and Scan have no shadow and are absent.
/// Cost: about 3.5 plain inferences a sample. Memory: does not grow with layers or samples.
/// `order`: the samples to look at; `layers`: those that are measured. Null: all.
std::vector<LayerError> own_error(const Subject& subject, const Plan& plan, RoundedWeights& weights,
                                  const std::vector<std::size_t>* order = nullptr,
                                  const std::vector<std::string>* layers = nullptr);

}  // namespace vernier
