// `vernier check lint`. Works on the bare message: what reading would refuse at the first fault is to be told in full.

#include "vernier/lint.h"

#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/machine.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/fixed_nodes.h"
#include "jobs/common/half_inputs.h"
#include "jobs/common/lint_graph.h"
#include "jobs/common/lint_log.h"
#include "jobs/common/lint_nodes.h"
#include "jobs/common/missing_weights.h"
#include "jobs/common/peer_samples.h"
#include "jobs/common/runtime_check.h"
#include "jobs/common/sources.h"
#include "jobs/common/typed_file.h"
#include "model/contents.h"
#include "model/graph_edit.h"
#include "model/model.h"
#include "model/operator_traits.h"
#include "model/raw_proto.h"
#include "model/sparse_constants.h"
#include "model/well_formed.h"
#include "plan/batched_weights.h"
#include "plan/qdq_defects.h"
#include "plan/rules/qdq_graph.h"
#include "plan/simulate_typed.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/lint.h"
#include "vernier/report/note_text.h"
#include "vernier/run.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Of ONNX's inference. ONNX Runtime goes by the shape that it infers, and warns.
bool is_of_declared_shape(const std::string& message) {
  return message.find("Inferred shape and existing shape differ") != std::string::npos;
}

class Linter {
 public:
  Linter(const LintOptions& options, const JobSinks& sinks) : options_(options), sinks_(sinks) {}

  LintReport run() {
    std::error_code ignored;
    if (!options_.model.in_memory() && !std::filesystem::exists(options_.model.file(), ignored)) {
      throw Error(ErrorCode::FileMissing, fmt::format("{}: no such file", options_.model.name()));
    }
    try {
      proto_ = read_raw_proto(options_.model);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Input) throw;  // this process lacks something, which says nothing of the file
      log_.add(true, kLoader, error.what());
      return std::move(log_).report(proto_.graph(), reached_);
    }
    log_.begin(proto_.graph());
    lint_graph(proto_, log_);
    for (const onnx::NodeProto& node : proto_.graph().node()) check_node(node);
    if (const auto found = malformation_of(proto_)) {  // inference and loading would not end, or break
      if (!log_.broken()) log_.add(true, kLoader, found->message, found->nodes);
      return std::move(log_).report(proto_.graph(), reached_);
    }
    read();
    load();
    infer();
    tell_of_fixed_refusal();
    return std::move(log_).report(proto_.graph(), reached_);
  }

 private:
  /// One node alone: operator, number of inputs, attributes.
  void check_node(const onnx::NodeProto& node) {
    onnx::checker::CheckerContext context;
    context.set_ir_version(static_cast<int>(std::max<std::int64_t>(proto_.ir_version(), 3)));
    std::unordered_map<std::string, int> imports;
    for (const onnx::OperatorSetIdProto& opset : proto_.opset_import()) {
      imports[opset.domain()] = static_cast<int>(opset.version());
    }
    if (!node.domain().empty() && !imports.contains(node.domain())) {
      // An engine may have the operator. ONNX Runtime refuses the model with these words.
      unimported_.insert(log_.name_of(node));
      log_.add(false, kRuntime, fmt::format("No opset import for domain '{}'", printable(node.domain())),
               {log_.name_of(node)});
      return;
    }
    if (!imports.contains("") && !imports.contains("ai.onnx")) return;  // said already
    context.set_opset_imports(imports);
    if (has_body(node)) return;  // its body captures names that one node alone does not show
    try {
      onnx::checker::check_node(node, context, onnx::checker::LexicalScopeContext());
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& failure) {
      log_.add(true, kChecker, printable(first_line(failure.what())), {log_.name_of(node)});
    }
  }

  /// Inference reads shapes and axes wherever they lie, and refuses those in a file beside the model.
  void bring_in(onnx::TensorProto& tensor) {
    constexpr std::size_t kMostBytes = std::size_t{64} << 10U;
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL || !model_) return;
    const std::optional<Tensor> value = initializer(*model_, tensor.name());
    if (value && value->byte_size() <= kMostBytes) tensor = proto_of(*value, tensor.name());
  }

  /// Types and shapes of each node, given what is known of its inputs: every node that does not fit, not the first.
  void infer() {
    if (!unimported_.empty()) return;
    onnx::ModelProto inferred = proto_;
    if (model_) {  // inference knows no sparse initializers; what is wrong with them was said when the model was read
      make_constants_dense(inferred, [](const onnx::TensorProto& proto) {
        return proto.data_location() == onnx::TensorProto::EXTERNAL
                   ? Tensor(static_cast<Dtype>(proto.data_type()), Shape(proto.dims().begin(), proto.dims().end()))
                   : tensor_of(proto);
      });
    }
    for_each_graph(*inferred.mutable_graph(), [&](onnx::GraphProto& graph) {
      graph.clear_value_info();
      for (onnx::TensorProto& tensor : *graph.mutable_initializer()) bring_in(tensor);
    });
    if (model_) sort_nodes(*inferred.mutable_graph());  // what is read behind another node has a type, too
    try {
      const onnx::ShapeInferenceOptions options(/*check_type_val=*/true, /*strict_mode_val=*/1, /*data_prop_val=*/true);
      onnx::shape_inference::InferShapes(inferred, onnx::OpSchemaRegistry::Instance(), options);
      look_at_channels(inferred);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& failure) {
      // "(op_type:Conv, node name: c): message", one for each node, joined.
      const std::string text = failure.what();
      bool named = false;
      for (const onnx::NodeProto& node : proto_.graph().node()) {
        const std::string mark = "node name: " + node.name() + ")";
        const std::size_t at = node.name().empty() ? std::string::npos : text.find(mark);
        if (at == std::string::npos) continue;
        named = true;
        const std::string name = log_.name_of(node);
        // Said in the engine's words, or behind a node that is refused.
        if (log_.is_refused(name)) {
          log_.forbid(name);
          continue;
        }
        if (reached_ && !reached_->contains(name)) continue;
        std::size_t end = text.find("(op_type:", at);
        const std::size_t line = text.find('\n', at);
        end = std::min({end, line, text.size()});
        std::string message = text.substr(at + mark.size(), end - at - mark.size());
        while (!message.empty() && (message.front() == ':' || message.front() == ' ')) message.erase(0, 1);
        log_.add(!(loaded_ && is_of_declared_shape(message)), kChecker, printable(message), {log_.name_of(node)});
      }
      if (!named) log_.add(!(loaded_ && is_of_declared_shape(text)), kChecker, printable(first_line(text)));
    }
  }

  /// Neither inference nor loading holds a Conv's weight against the channels of its input.
  void look_at_channels(const onnx::ModelProto& inferred) {
    std::map<std::string, const onnx::TensorShapeProto*> shapes;
    const auto learn = [&](const auto& values) {
      for (const onnx::ValueInfoProto& value : values) shapes[value.name()] = &value.type().tensor_type().shape();
    };
    learn(inferred.graph().input());
    learn(inferred.graph().value_info());
    std::map<std::string, const onnx::TensorProto*> weights;
    for (const onnx::TensorProto& tensor : inferred.graph().initializer()) weights[tensor.name()] = &tensor;
    for (const onnx::NodeProto& node : inferred.graph().node()) {
      if (!is_onnx(node, "Conv") || node.input_size() < 2) continue;
      const auto input = shapes.find(node.input(0));
      const auto weight = weights.find(node.input(1));
      if (input == shapes.end() || weight == weights.end()) continue;
      if (input->second->dim_size() < 2 || !input->second->dim(1).has_dim_value() || weight->second->dims_size() < 2) {
        continue;
      }
      const std::int64_t channels = input->second->dim(1).dim_value();
      const std::int64_t group = attribute_int(node, "group", 1);
      const std::int64_t per_group = weight->second->dims(1);
      const std::int64_t made = weight->second->dims(0);
      if (log_.is_refused(log_.name_of(node))) continue;
      if (group > 0 && channels % group == 0 && channels / group == per_group && made % group == 0) continue;
      log_.add(true, kGraph,
               fmt::format("the weight [{}x{}] with group {} does not take the input's {} channels", made, per_group,
                           group, channels),
               {log_.name_of(node)});
    }
  }

  /// Scales that nodes make of constants are looked at, too. What refuses to load is looked at as it is.
  static Model with_known_scales(const Model& model) {
    try {
      return as_typed_file(model);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Input && error.kind() != ErrorKind::Backend) throw;
      return model;
    }
  }

  /// Engines run pairs that fit nothing: what `debug loss` names of them without a run.
  void look_at_pairs(const Model& model) {
    if (count_quantizers(model) == 0 && !holds_quantized_values(model)) return;
    const Model file = normalized_file(with_known_scales(model));
    for (const QdqDefect& defect : find_qdq_defects(file)) {
      const std::string cure = defect.cure.empty() ? "" : "; cure: " + defect.cure;
      log_.add(!defect.may_be_meant, kPairs, printable(defect.text) + cure, {defect.node});
    }
    for (const QdqGraph& graph : QdqGraph::all_of(file)) {
      for (const onnx::NodeProto& node : graph.graph().node()) {
        const std::string why = refused_batched_weight(graph, node);
        if (why.empty()) continue;
        run_refused_ = true;
        log_.add(false, kRuntime, "ONNX Runtime loads the file and refuses to run it: " + why, {node.name()});
      }
    }
  }

  /// Its optimizations make kernels that refuse at their first run what the file says correctly.
  void run_as_it_comes(const std::shared_ptr<const Runtime>& runtime, const Session& session) {
    if (!options_.run || run_refused_ || log_.broken() || too_large_to_try(*model_)) return;
    const std::shared_ptr<const SampleSource> samples = samples_of(*model_);
    if (!samples) return;
    const std::optional<RuntimeCheck> check = try_on_runtime(runtime, *model_, *samples);
    if (!check) return look_for_fixed_refusal(runtime, session, samples->at(0));
    const std::optional<Note> note = refusal_note(*check, runtime->version());
    const bool error = !check->changed_db && !check->runs_unoptimized;
    if (note) log_.add(error, kRuntime, note_text(*note), nodes_in(check->node, check->refused));
  }

  /// Whether it runs on random inputs. If not, that is a fault of the node that refuses them only if it would refuse
  /// any others, too.
  void look_for_fixed_refusal(const std::shared_ptr<const Runtime>& runtime, const Session& session,
                              const Sample& sample) {
    try {
      session.run(sample);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Backend) throw;
      if (!nodes_of_fixed_inputs(*model_, runtime).contains(error.node())) return;
      fixed_refusal_ = {error.node(), first_line(error.reason())};
    }
  }

  /// Where inference names no fault of the node itself, in clearer words.
  void tell_of_fixed_refusal() {
    const auto& [refused, reason] = fixed_refusal_;
    if (refused.empty() || log_.is_refused(refused)) return;
    log_.add(true, kRuntime, printable(reason), {refused});
    reached_.emplace();  // all but those behind it
    std::set<std::string> missing;
    for (const onnx::NodeProto& node : model_->proto.graph().node()) {
      const bool behind =
          std::ranges::any_of(tensors_read(node), [&](const auto& name) { return missing.contains(name); });
      if (behind || node.name() == refused) missing.insert(node.output().begin(), node.output().end());
      if (!behind) reached_->insert(node.name());
    }
  }

  /// The node that refuses, if known, or those that the runtime's own words name where it refuses to load: "(conv)".
  std::vector<std::string> nodes_in(const std::string& node, const std::string& text) const {
    if (!node.empty()) return {node};
    std::vector<std::string> nodes;
    for (const onnx::NodeProto& one : proto_.graph().node()) {
      if (!one.name().empty() && text.find("(" + one.name() + ")") != std::string::npos) nodes.push_back(one.name());
    }
    return nodes;
  }

  void read() {
    if (proto_.graph().node_size() == 0) return;
    try {
      model_ = missing_.read(options_.model, options_.measure.external_data_dir);
      if (missing_.any()) {
        log_.add(false, kLoader, "stripped weights, checked without their values: " + list_some(missing_.names()));
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Input) throw;
      unread_ = error;
    }
  }

  /// ONNX Runtime has one kind of error for everything. Where it refuses a model and there is no memory for another
  /// copy of the weights, the lack of memory is the reason for all that is known. Errors: std::bad_alloc.
  static void require_memory_for(const Model& model) {
    constexpr std::size_t kLeast = std::size_t{256} << 20U;  // more than a session takes without any weights
    require_memory(kLeast + 2 * bytes_beside(model));
  }

  /// Null: inputs that nobody can make up. Errors: those of samples that were given.
  std::shared_ptr<const SampleSource> samples_of(const Model& model) const {
    const SourceOptions source = like_the_peer(options_.measure.data);
    try {
      return source.is_random() ? samples_for(model, source, JobSinks())
                                : samples_for_halves(model, source, JobSinks());
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Interrupted || !source.is_random()) throw;
      return nullptr;
    }
  }

  /// Of samples that were given each has to run. What refuses random inputs alone may be right to.
  void run_given(const std::shared_ptr<const Runtime>& runtime, const Session& session) {
    if (options_.measure.data.is_random() || missing_.any()) return;  // no sample holds the weights
    const std::shared_ptr<const SampleSource> samples = samples_of(*model_);
    for (std::size_t i = 0; i < samples->size(); ++i) {
      if (sinks_.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
      const Sample sample = samples->at(i);
      try {
        session.run(sample);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::Backend) throw;
        if (!tell_of_nodes(try_nodes_alone(runtime, *model_, sample))) {
          log_.add(true, kRuntime, printable_text(error.what()), nodes_in(error.node(), error.what()));
        }
        return;
      }
    }
  }

  /// Where ONNX Runtime refuses the whole, it tells of one node.
  bool try_nodes(const std::shared_ptr<const Runtime>& runtime) {
    Model bare;
    bare.proto = proto_;
    for (int i = 0; i < proto_.graph().node_size(); ++i) {
      bare.proto.mutable_graph()->mutable_node(i)->set_name(log_.name_of(proto_.graph().node(i)));
    }
    const Model& model = model_ ? *model_ : bare;
    std::shared_ptr<const SampleSource> samples;
    try {
      samples = samples_of(model);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Input) throw;
      log_.add(true, kLoader, printable_text(error.what()));  // neither the model nor its inputs can be used
    }
    return samples != nullptr && tell_of_nodes(try_nodes_alone(runtime, model, samples->at(0)));
  }

  /// Whether any node was refused.
  bool tell_of_nodes(const std::vector<NodeTrial>& trials) {
    reached_.emplace();
    bool any = false;
    for (const NodeTrial& trial : trials) {
      reached_->insert(trial.node);
      if (trial.refusal.empty() || log_.is_refused(trial.node)) continue;
      any = true;
      // An engine may have the operator.
      if (trial.unknown && unimported_.contains(trial.node)) continue;  // the same, in other words
      log_.add(!trial.unknown, kRuntime, printable(trial.refusal), {trial.node}, trial.inferred);
    }
    return any;
  }

  /// The engine's own opinion; and, where it refuses, which nodes it refuses alone.
  void load() {
    if (proto_.graph().node_size() == 0) return;
    const bool broken = log_.broken();
    std::optional<Error> refused = unread_;
    std::shared_ptr<const Runtime> runtime;
    std::optional<Session> session;
    const auto unless_refused = [&](const std::function<void()>& step) {
      try {
        step();
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::Internal || error.kind() == ErrorKind::Interrupted) throw;
        if (model_) require_memory_for(*model_);
        refused = error;
      }
    };
    unless_refused([&] {
      if (model_) look_at_pairs(*model_);
      runtime = Runtime::load(options_.measure.custom_operators);
      if (model_)
        session.emplace(runtime, *model_, SessionOptions{.optimize = false, .ir_as_given = true, .any_outputs = true});
    });
    loaded_ = session.has_value();
    if (session) run_given(runtime, *session);
    if (session) unless_refused([&] { run_as_it_comes(runtime, *session); });
    if (!refused || (options_.run && runtime && try_nodes(runtime))) return;
    const bool engine = refused->kind() == ErrorKind::Backend;
    if (engine || !broken) {
      log_.add(true, engine ? kRuntime : kLoader, printable_text(refused->reason()),
               nodes_in(refused->node(), refused->reason()));
    }
  }

  const LintOptions& options_;
  const JobSinks& sinks_;
  onnx::ModelProto proto_;
  std::optional<Model> model_;                         // as other jobs read it
  std::set<std::string> unimported_;                   // nodes of domains that the model does not import
  bool loaded_ = false;                                // by ONNX Runtime
  bool run_refused_ = false;                           // a rule knows that ONNX Runtime does
  std::pair<std::string, std::string> fixed_refusal_;  // a node that refuses any input, and why
  MissingWeights missing_;
  std::optional<Error> unread_;                   // why they cannot
  std::optional<std::set<std::string>> reached_;  // nodes that were tried one by one; absent: the whole was enough
  LintLog log_;
};

}  // namespace

LintReport lint(const LintOptions& options, const JobSinks& sinks) { return Linter(options, sinks).run(); }

}  // namespace vernier
