// `vernier surgeon sanitize`: edits that keep what a model computes, proven by running both.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analysis/marked_outputs.h"
#include "analysis/requirement.h"
#include "analysis/surgery.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/missing_weights.h"
#include "jobs/common/model_file.h"
#include "jobs/common/peer_samples.h"
#include "jobs/common/sources.h"
#include "model/data_dependent.h"
#include "model/graph_edit.h"
#include "model/naming.h"
#include "model/passes/pass.h"
#include "model/prepare.h"
#include "model/raw_proto.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/requirement.h"
#include "vernier/run.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/surgeon.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr int kMostRounds = 8;

class Sanitizer {
 public:
  Sanitizer(const SanitizeOptions& options, const JobSinks& sinks)
      : options_(options),
        sinks_(sinks),
        runtime_(Runtime::load(options.measure.custom_operators)),
        evaluate_(evaluator(runtime_)) {}

  SurgeonResult run() {
    const Model original = missing_.read(options_.model, options_.measure.external_data_dir);
    Model model = original;
    result_.output = options_.output;
    result_.nodes_before = count(model);
    override_input_shapes(model, options_.input_shapes, "‹override-input-shapes›");
    if (options_.fix_open_sizes) fix_open_sizes(model);
    choose(model);
    bound(model);
    edit(model);
    verify_structure(model, "sanitize");
    result_.nodes_after = count(model);
    note_renames(model);
    compare(original, model);
    missing_.put_back(model);
    result_.model = given_model(std::move(model), options_.output, options_.external_data);
    for (const Note& note : result_.warnings) sinks_.warn(note);
    return std::move(result_);
  }

 private:
  static std::size_t count(const Model& model) {
    std::size_t nodes = 0;
    for_each_graph(model.proto.graph(),
                   [&](const onnx::GraphProto& graph) { nodes += static_cast<std::size_t>(graph.node_size()); });
    return nodes;
  }

  /// Reading tells tensors of bodies apart that share a name.
  void note_renames(const Model& model) {
    std::set<std::string> left;
    for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
      if (&graph == &model.proto.graph()) return;
      for (const onnx::NodeProto& node : graph.node()) left.insert(node.output().begin(), node.output().end());
      for (const onnx::TensorProto& tensor : graph.initializer()) left.insert(tensor.name());
      for (const onnx::ValueInfoProto& input : graph.input()) left.insert(input.name());
    });
    if (left.empty()) return;
    onnx::ModelProto raw = read_raw_proto(options_.model);
    std::vector<std::string> renamed;
    for (const auto& [before, after] : fix_names(raw)) {
      if (left.contains(after)) renamed.push_back(fmt::format("{} (was {})", after, before));
    }
    if (!renamed.empty()) result_.notes.push_back({"tensors-renamed", {{"tensors", renamed}}});
  }

  void choose(Model& model) {
    const OutputChoice& choice = options_.outputs;
    if (choice.names.empty() && choice.excluded.empty() && choice.op_types.empty()) return;
    std::vector<std::string> left_out;
    set_outputs(model, choose_outputs(model, choice, left_out));
    const std::map<std::string, onnx::TypeProto> types = infer_type_protos(model);
    for (onnx::ValueInfoProto& output : *model.proto.mutable_graph()->mutable_output()) {
      if (const auto type = types.find(output.name()); type != types.end()) *output.mutable_type() = type->second;
    }
    if (!left_out.empty()) {
      result_.warnings.push_back({"outputs-not-marked", {{"tensors", left_out}}});
    }
    changed_outputs_ = true;
  }

  void bound(Model& model) {
    if (options_.size_bounds.empty()) return;
    const std::vector<std::string> found = unbounded_sizes(model);
    for (const auto& [tensor, bound] : options_.size_bounds) {
      if (!tensor.empty() && std::find(found.begin(), found.end(), tensor) == found.end()) {
        throw Error(
            ErrorCode::UnknownName,
            fmt::format("‹set-unbounded-dds-upper-bound›: '{}' is not a size without a bound", printable(tensor)),
            found.empty() ? "there is none" : "these are: " + list_some(found));
      }
    }
    for (const std::string& tensor : found) {
      auto bound = options_.size_bounds.find(tensor);
      if (bound == options_.size_bounds.end()) bound = options_.size_bounds.find("");
      if (bound == options_.size_bounds.end()) continue;
      bound_size(model, tensor, bound->second);
      result_.bounded.emplace_back(tensor, bound->second);
    }
    if (found.empty()) result_.warnings.push_back({"no-size-from-data", {}});
  }

  using Pass = passes::Outcome (*)(Model&, const passes::Context&);

  bool apply(Model& model, Pass pass) {
    const std::size_t before = count(model);
    const passes::Outcome outcome = pass(model, {prepare_, evaluate_, default_opset(model.proto), limits_});
    append(result_.notes, outcome.notes);
    exact_ = exact_ && !outcome.changed_arithmetic;
    return count(model) < before;
  }

  void edit(Model& model) {
    limits_.rounds = options_.passes;
    limits_.max_bytes = options_.fold_size_limit;
    limits_.shapes = options_.fold_shapes;
    limits_.outputs = true;
    limits_.apart = options_.partitioning.has_value();
    const bool fold = options_.fold_constants || options_.simplify;
    for (int round = 0; round < kMostRounds; ++round) {
      bool any = false;
      if (fold) {
        any = apply(model, passes::constants_to_initializers) || any;
        any = apply(model, passes::fold_constants) || any;
        any = apply(model, passes::inline_ifs) || any;
        any = apply(model, passes::remove_dead_nodes) || any;
      }
      if (options_.simplify) {
        any = apply(model, passes::fold_batch_norm) || any;
        any = apply(model, passes::fuse_bias) || any;
        any = apply(model, passes::remove_idle_nodes) || any;
        any = apply(model, passes::merge_equal_nodes) || any;
      }
      if (!any || options_.passes > 0) break;
    }
    if (options_.cleanup) apply(model, passes::remove_dead_nodes);
    if (fold) for_each_graph(*model.proto.mutable_graph(), keep_custom_types);
  }

  struct Differences {
    bool identical = true;
    std::map<std::string, OutputStats> stats;  // of float32 outputs
    std::set<std::string> changed;             // others
  };

  Differences run_both(const Model& original, const Model& model, const SampleSource& samples, bool optimize) const {
    Differences found;
    const std::vector<InputInfo> outputs = model_outputs(model);
    const Session before(runtime_, original, {.optimize = optimize});
    const Session after(runtime_, model, {.optimize = optimize});
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (sinks_.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
      const Sample sample = samples.at(i);
      const std::vector<Tensor> ref = before.run(sample);
      const std::vector<Tensor> got = after.run(sample);
      for (std::size_t k = 0; k < ref.size(); ++k) {
        const bool same_shape = ref[k].shape() == got[k].shape();
        const bool same =
            same_shape && std::memcmp(ref[k].bytes().data(), got[k].bytes().data(), ref[k].byte_size()) == 0;
        found.identical = found.identical && same;
        if (ref[k].dtype() == Dtype::Float32 && same_shape) {
          found.stats[outputs[k].name].add_sample(i, ref[k], got[k]);
        } else if (!same) {
          found.changed.insert(outputs[k].name);
        }
      }
    }
    return found;
  }

  /// Inputs of other fixed sizes than the original's: it cannot run on them.
  static bool has_other_sizes(const Model& original, const Model& model) {
    const std::vector<InputInfo> before = model_inputs(original), after = model_inputs(model);
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
      for (std::size_t d = 0; d < std::min(before[i].shape.size(), after[i].shape.size()); ++d) {
        const std::int64_t wanted = after[i].shape[d];
        if (before[i].shape[d] >= 0 && wanted >= 0 && before[i].shape[d] != wanted) return true;
      }
    }
    return false;
  }

  /// Runs both and says how the outputs differ.
  void compare(const Model& original, const Model& model) {
    if (changed_outputs_ || !options_.size_bounds.empty()) return;  // other outputs, or meant to compute something else
    if (has_other_sizes(original, model)) return;
    if (missing_.any() && !options_.measure.data.is_random()) {
      result_.warnings.push_back({"not-compared-without-weights", {}});
      return;
    }
    try {
      SourceOptions source = like_the_peer(options_.measure.data);
      for (const auto& [name, shape] : options_.input_shapes) source.shapes.emplace(name, shape.sizes);
      const std::shared_ptr<const SampleSource> samples = samples_for(original, source, sinks_);
      ModelsCompared compared;
      compared.data = samples->description();
      const Differences off = run_both(original, model, *samples, false);
      // Without optimizations the engine packs weights that are constants and sums them in another order; with them the
      // original's weights are constants as well.
      compared.optimized = !off.identical && exact_ && run_both(original, model, *samples, true).identical;
      compared.identical = off.identical || compared.optimized;
      if (!compared.identical) {
        for (const auto& [name, stat] : off.stats) {
          compared.differences.push_back(
              {name, metric_value(Metric::MaxAbsError, stat), metric_value(Metric::MinSqnrDb, stat)});
        }
      }
      result_.compared = std::move(compared);
      if (result_.compared->identical) return;
      for (const std::string& name : off.changed) {
        result_.warnings.push_back({"output-changed", {{"output", name}}});
      }
      if (exact_) {
        result_.warnings.push_back({"exact-edits-differ", {}});
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Input && error.kind() != ErrorKind::Backend) throw;
      result_.warnings.push_back({"not-proven-by-running", {{"error", error.what()}}});
    }
  }

  MissingWeights missing_;
  const SanitizeOptions& options_;
  JobSinks sinks_;
  std::shared_ptr<const Runtime> runtime_;
  Evaluator evaluate_;
  PrepareOptions prepare_;
  passes::FoldLimits limits_;
  SurgeonResult result_;
  bool exact_ = true;
  bool changed_outputs_ = false;
};

}  // namespace

SurgeonResult sanitize_model(const SanitizeOptions& options, const JobSinks& sinks) {
  return Sanitizer(options, sinks).run();
}

}  // namespace vernier
