// A piece of a network that is run again and again from its start to the outputs, each time with other layers of it
// low.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/reached_outputs.h"
#include "analysis/subject.h"
#include "analysis/switched_runs.h"
#include "plan/lower_simulated.h"
#include "plan/plan.h"
#include "vernier/tensor.h"

namespace vernier {

/// Tensors at the start of a segment, on one sample.
using Boundary = std::map<std::string, Tensor>;

class Segment {
 public:
  struct Member {
    std::string name;
    OutputSet reached;  // judged outputs that it can change, by their places
  };

  virtual ~Segment() = default;
  /// The layers in it whose sensitivity can be measured.
  const std::vector<Member>& layers() const { return layers_; }
  /// Layers whose sensitivities one run tells.
  std::vector<std::vector<std::size_t>> groups(std::size_t outputs) const;

  /// From here on run() is about this sample, which must outlive that.
  virtual void begin(const Boundary& boundary) = 0;
  /// Judged outputs with only the layers of `group` low. Empty when they do not differ from the reference.
  virtual std::vector<Tensor> run(const std::vector<std::size_t>& group) const = 0;

 protected:
  std::vector<Member> layers_;
};

/// Nodes [first, last) of the subject's model. Shadows of its layers (own_error.h) give their low outputs, which an
/// Inject puts in the place of the reference's. `example`: the tensors at its start on any sample.
std::unique_ptr<Segment> injected_segment(const Subject& subject, const Plan& plan,
                                          const std::vector<std::string>& layers, int first, int last,
                                          const Boundary& example, RoundedWeights& weights,
                                          const ReachedOutputs& reached);

/// A part of `switched`: its layers are switched low where they stand.
std::unique_ptr<Segment> switched_segment(const Subject& subject, const SwitchedRuns& switched,
                                          const std::vector<std::string>& layers, std::size_t part,
                                          const ReachedOutputs& reached);

}  // namespace vernier
