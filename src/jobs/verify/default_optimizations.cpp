#include "jobs/verify/default_optimizations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "analysis/beside_known.h"
#include "analysis/compared_run.h"
#include "analysis/figures.h"
#include "analysis/subject.h"
#include "analysis/surgery.h"
#include "base/text.h"
#include "engines/onnxruntime/optimizer_faults.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/runtime_check.h"
#include "jobs/verify/lost_fusion.h"
#include "jobs/verify/on_engine.h"
#include "model/operator_traits.h"
#include "plan/float_interface.h"
#include "plan/one_copy.h"
#include "report/text/figures.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/typed.h"
#include "vernier/tensor.h"

namespace vernier {

Model marked_beside(const Model& typed, const Loaded& loaded) {
  Model marked = typed;
  fit_beside(marked, loaded);
  const std::map<std::string, ValueType> types = infer_types(marked);
  std::vector<std::string> names = loaded.subject.judged;
  for (const Carry& carry : loaded.subject.carries) {
    if (std::ranges::find(names, carry.output) == names.end()) names.push_back(carry.output);
  }
  std::vector<std::pair<std::string, Dtype>> outputs;
  for (const std::string& name : names) outputs.emplace_back(name, types.at(name).dtype);
  set_outputs(marked, outputs);
  return marked;
}

namespace {

std::map<std::string, OutputStats> outputs_by_default(const Model& typed, const Loaded& loaded,
                                                      const OutputStore& known, DefaultPlace place) {
  Subject subject = loaded.subject;
  subject.ranks = nullptr;  // one alone asks
  if (subject.runtime->gpu() != nullptr && place == DefaultPlace::Cpu) subject.threads = subject.cpu_threads;
  set_batch(subject, 1);
  const bool large = bytes_beside(typed) > kOneCopyAbove / 4;  // four times as many bytes in float32
  const Session session(subject.runtime, marked_beside(typed, loaded),
                        {.integer_kernels = true,
                         .keeps_no_memory = large,
                         .ir_as_given = true,
                         .providers = providers_at(place, *subject.runtime)});
  const auto compare = [&](SampleResult& sample) {
    const std::vector<Tensor> references = known.get(sample.index);
    std::vector<Tensor> given;
    for (std::size_t i = 0; i < references.size(); ++i) {
      given.push_back(as_float32(sample.outputs[i]));
      if (given[i].shape() == references[i].shape() || subject.picked.contains(subject.judged[i])) continue;
      throw Error(ErrorCode::RuntimeFails,
                  fmt::format("'{}' has the type {}, not {}", printable(subject.judged[i]),
                              shape_text(given[i].shape()), shape_text(references[i].shape())));
    }
    sample.outcomes = outcomes_of(subject, references, given);
    sample.outputs.clear();
  };
  return run_compared(subject, session, {}, "ONNX Runtime", compare).outputs;
}

}  // namespace

std::optional<RunFigures> figures_by_default(const Model& typed, const Loaded& loaded, const Requirement* requirement,
                                             const OutputStore* known, std::string* why, DefaultPlace place) {
  if (bytes_beside(typed) > kLargeWeights) return std::nullopt;
  std::optional<OutputStore> own;
  try {
    if (known == nullptr) known = &own.emplace(outputs_of_float(loaded.subject));
    return figures_of(loaded.subject, outputs_by_default(typed, loaded, *known, place), requirement);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Backend) throw;
    if (why != nullptr) *why = printable_text(first_line(error.what()));
    return std::nullopt;
  }
}

namespace {

constexpr double kFine = 50;  // dB, above which another order of sums shows

/// Whether some output of `there` is more than 0.5 dB below that of `elsewhere`, and below `fine`.
bool is_worse(const RunFigures& there, const RunFigures& elsewhere, double fine = kFine) {
  constexpr double kMatters = 0.5;
  return !std::ranges::equal(there.outputs, elsewhere.outputs, [&](const OutputFigure& a, const OutputFigure& b) {
    return a.sqnr_db >= fine || !(a.sqnr_db < b.sqnr_db - kMatters);
  });
}

bool is_lost(const RunFigures& there, const RunFigures& simulated, const std::optional<SaturatedPairs>& saturated) {
  const bool saturates = saturated && saturated->runtime == Target::OnnxRuntime;
  return is_worse(there, simulated) && !(saturates && !is_worse(there, saturated->figures));
}

}  // namespace

std::optional<Note> lost_by_default(const RunFigures& there, const RunFigures& simulated,
                                    const std::optional<SaturatedPairs>& saturated,
                                    const std::optional<Requirement>& requirement, const std::string& version) {
  if (!is_lost(there, simulated, saturated)) return std::nullopt;
  return Note{"lost-by-default-optimizations",
              {{"version", version},
               {"missed", there.passed == false},
               {"there", figure_text(there, requirement)},
               {"simulated", figure_text(simulated, requirement)}}};
}

void add_lost_fusion(Note& note, const Model& typed, const Loaded& loaded, DefaultPlace place) {
  const LostFusion lost = find_lost_fusion(typed, loaded, place);
  if (!lost.layer.empty()) {
    note.fields.emplace_back("layer", lost.layer);
    note.fields.emplace_back("operator", lost.op_type);
  }
  if (lost.option.empty()) return;
  note.fields.emplace_back("option", lost.option);
  note.fields.emplace_back("gone", lost.gone);
}

std::optional<EngineFigures> deciding_by_default(const RunFigures& there, const RunFigures& simulated,
                                                 const std::optional<SaturatedPairs>& saturated,
                                                 const std::string& version) {
  // On a CPU without VNNI alone: others get more than those pairs leave.
  const bool explained = saturated && saturated->figures.passed != true &&
                         !is_worse(saturated->figures, there, std::numeric_limits<double>::infinity());
  const bool missed = there.passed == false && simulated.passed == true && !explained;
  if (!missed && !is_lost(there, simulated, saturated)) return std::nullopt;
  EngineFigures figures;
  figures.engine = "ONNX Runtime " + version;
  figures.figures = there;
  return figures;
}

bool is_for_onnxruntime(const Model& typed) {
  bool found = false;
  for_each_graph(typed.proto.graph(), [&](const onnx::GraphProto& graph) {
    found = found || std::ranges::any_of(graph.node(), [](const onnx::NodeProto& node) {
              return has(node, Trait::ComputesOnCodes) || (has(node, Trait::StoresCodes) && !of_onnx(node));
            });
  });
  return found;
}

UsersGet what_users_get(const Model& typed, const Loaded& loaded, const RunFigures& simulated,
                        const std::optional<SaturatedPairs>& saturated, const std::optional<Requirement>& requirement,
                        bool all_samples) {
  const Subject& subject = loaded.subject;
  const std::string& version = subject.runtime->version();
  std::string why;
  std::optional<RunFigures> there;
  if (all_samples) there = figures_by_default(typed, loaded, requirement ? &*requirement : nullptr, nullptr, &why);
  std::optional<RuntimeCheck> check;
  if (!there || !faulty_optimizers(typed.proto.graph()).empty()) {
    Model fed = typed;  // it may read float16, or other integers, where samples of the float model are float32
    cast_inputs(fed, subject.model);
    check = try_on_runtime(subject.runtime, fed, *loaded.samples);
  }
  const bool refused = check && !check->refused.empty();
  if (there && !refused) {
    std::optional<Note> note = lost_by_default(*there, simulated, saturated, requirement, version);
    if (note) add_lost_fusion(*note, typed, loaded, DefaultPlace::Cpu);
    return {std::move(note), deciding_by_default(*there, simulated, saturated, version)};
  }
  if (check && !refused && !check->changed_db && !why.empty()) {  // it runs the first sample alone
    return {refusal_note(RuntimeCheck{why, false, {}}, version), {}, /*refused=*/true};
  }
  return {check ? refusal_note(*check, version) : std::nullopt, {}, refused};
}

}  // namespace vernier
