// Does ONNX Runtime run a file as it comes, with its default optimizations? They fuse what lies between Q/DQ pairs into
// kernels on codes, and some of these kernels refuse at their first run what the file says correctly.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/note.h"
#include "vernier/report/typed.h"
#include "vernier/samples.h"

namespace vernier {

class Runtime;

/// More than 1 GiB of weights, or more than 15,000 nodes.
bool too_large_to_try(const Model& model);

/// Where a file is tried as its users run it: on this CPU, or on the GPU of the job, if it has one.
enum class DefaultPlace { Cpu, Device };

/// The providers of a session there, for SessionOptions.
std::vector<std::string> providers_at(DefaultPlace place, const Runtime& runtime);

/// Loads `model` in ONNX Runtime with default optimizations and runs the first sample, then again without
/// optimizations. A graph that meets a known fault of the optimizer is tried in a copy of this process first: it may
/// crash. Absent, because nothing can be said: the model is too large to try, or random samples do not fit it either
/// way, nor in float32. Cost: two sessions and two runs, each on that many `threads`. Errors: those of the samples.
std::optional<RuntimeCheck> try_on_runtime(const std::shared_ptr<const Runtime>& runtime, const Model& model,
                                           const SampleSource& samples, std::size_t threads = 1,
                                           DefaultPlace place = DefaultPlace::Cpu);

/// For a file that was refused or is computed differently; else nothing.
std::optional<Note> refusal_note(const RuntimeCheck& check, const std::string& version);

}  // namespace vernier
