// Whether samples are what a network was trained on: the samples as given, and changed in the usual ways, through the
// float model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "analysis/output_store.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/load.h"
#include "model/model.h"
#include "vernier/note.h"
#include "vernier/report/check_data.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"

namespace vernier {

struct LabelsOfInputs {
  std::span<const std::int64_t> labels;  // one a sample; empty: none
  std::int64_t offset = 0;
};

/// Where nothing can tell readings apart the inputs as given are the only one.
CheckDataReport check_inputs(const std::shared_ptr<const Runtime>& runtime, const Model& model,
                             const SampleSource& samples, const LabelsOfInputs& labels, const JobSinks& sinks);

/// The same with a few samples, as a warning where they surely fit better when they are read otherwise, or
/// are unlike what the network was trained on; else nothing, also where the network cannot be run like that, for
/// random inputs and sequences, and on ranks but the first. `known`: judged outputs of the float model on these
/// samples, where the job has run it already. Cost: nothing is run where nothing could tell readings apart, or where
/// `known` tells that the classes are sure; else up to 60 runs of a sample, of networks with BatchNormalizations of
/// what is in front of these.
/// Errors: Interrupted.
std::optional<Note> input_warning(const Loaded& loaded, const JobSinks& sinks, const OutputStore* known = nullptr);
/// Stands for the network and those samples. Empty where there is nothing to warn of.
std::string input_warning_identity(const Loaded& loaded);

}  // namespace vernier
