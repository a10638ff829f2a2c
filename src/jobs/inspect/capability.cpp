// `vernier inspect capability`: a verdict for each node, from a published list or from ONNX Runtime itself, and the
// graph cut into parts that are taken whole or not at all.

#include "vernier/capability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/scratch_folder.h"
#include "base/text.h"
#include "engines/hosts/engine_host.h"
#include "engines/hosts/find_engine.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/subgraph.h"
#include "model/type_protos.h"
#include "plan/operators/operators.h"
#include "vernier/engine.h"
#include "vernier/error.h"
#include "vernier/report/capability.h"
#include "vernier/run.h"
#include "vernier/sinks.h"

namespace vernier {
namespace {

std::string full_name(const onnx::NodeProto& node) {
  return of_onnx(node) ? node.op_type() : node.domain() + "::" + node.op_type();
}

class Judge {
 public:
  Judge(const Model& model, const EngineOperators& list) : model_(model), list_(list), around_(model) {}

  OperatorVerdict of(const onnx::NodeProto& node) const {
    for (const onnx::FunctionProto& function : model_.proto.functions()) {
      if (function.name() == node.op_type() && function.domain() == node.domain()) return of_all(function.node());
    }
    OperatorVerdict verdict = list_.verdict(around_, node);
    if (!verdict.taken) return verdict;
    for_each_body(node, [&](const onnx::GraphProto& body) {
      if (!verdict.taken) return;
      if (const OperatorVerdict inner = of_all(body.node()); !inner.taken) verdict = inner;
    });
    return verdict;
  }

 private:
  OperatorVerdict of_all(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) const {
    for (const onnx::NodeProto& inner : nodes) {
      OperatorVerdict verdict = of(inner);
      if (!verdict.taken) {
        verdict.why = fmt::format("{} inside of it: {}", printable(full_name(inner)), verdict.why);
        return verdict;
      }
    }
    return {true, "", ""};
  }

  const Model& model_;
  const EngineOperators& list_;
  NodeSurroundings around_;
};

/// Loads each node as a model of its own.
class RuntimeJudge {
 public:
  RuntimeJudge(const Model& model, std::shared_ptr<const Runtime> runtime)
      : model_(model), runtime_(std::move(runtime)), types_(infer_type_protos(model)), whole_(loads(model).empty()) {}

  const Runtime& runtime() const { return *runtime_; }
  bool whole() const { return whole_; }
  std::size_t guessed() const { return guessed_; }

  OperatorVerdict of(int index) {
    if (whole_) return {true, "", ""};
    const onnx::NodeProto& node = model_.proto.graph().node(index);
    std::map<std::string, onnx::TypeProto> types = types_;
    bool guess = false;
    for (const std::string& name : boundary(model_, {index})) {
      if (types.contains(name)) continue;
      types[name].mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
      guess = true;
    }
    if (guess) ++guessed_;
    std::vector<std::string> outputs;
    for (const std::string& name : node.output()) {
      if (!name.empty()) outputs.push_back(name);
    }
    const Model piece = piece_of(model_, {index}, outputs, types);
    const std::string failure = loads(piece);
    if (failure.empty()) return {true, "", guess ? "the type of an input is not known, taken for float32" : ""};
    return {false, first_line(failure), ""};
  }

 private:
  /// Empty when it does, else the runtime's words.
  std::string loads(const Model& model) const {
    try {
      const Session session(runtime_, model, {.optimize = false});
      return {};
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Internal || error.kind() == ErrorKind::Interrupted) throw;
      return error.what();
    }
  }

  const Model& model_;
  std::shared_ptr<const Runtime> runtime_;
  std::map<std::string, onnx::TypeProto> types_;
  bool whole_;
  std::size_t guessed_ = 0;
};

void add_to(std::vector<CapabilityGroup>& groups, const std::string& op_type, const std::string& why,
            const std::string& node) {
  const auto same = std::ranges::find_if(
      groups, [&](const CapabilityGroup& group) { return group.op_type == op_type && group.why == why; });
  if (same != groups.end()) {
    same->nodes.push_back(node);
  } else {
    groups.push_back({op_type, why, {node}});
  }
}

/// Nodes by part, parts in an order in which they can run. A node's level rises by one where the kind changes on the
/// way from the inputs, so that within a level no path leaves and comes back; what is connected in a level is a part.
std::vector<std::vector<int>> cut_by_kind(const onnx::GraphProto& graph, const std::vector<bool>& taken) {
  const auto count = static_cast<std::size_t>(graph.node_size());
  std::map<std::string, int> maker;
  std::vector<int> level(count, 0);
  std::vector<int> root(count);
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int at) {
    while (root[static_cast<std::size_t>(at)] != at) {
      int& above = root[static_cast<std::size_t>(at)];
      above = root[static_cast<std::size_t>(above)];
      at = above;
    }
    return at;
  };
  std::vector<std::vector<int>> makers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const onnx::NodeProto& node = graph.node(static_cast<int>(i));
    level[i] = taken[i] ? 0 : 1;
    for (const std::string& name : tensors_read(node)) {
      const auto made = maker.find(name);
      if (made == maker.end()) continue;
      const auto from = static_cast<std::size_t>(made->second);
      makers[i].push_back(made->second);
      level[i] = std::max(level[i], level[from] + (taken[from] == taken[i] ? 0 : 1));
    }
    for (const std::string& name : node.output()) maker[name] = static_cast<int>(i);
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (const int from : makers[i]) {
      if (level[static_cast<std::size_t>(from)] == level[i])
        root[static_cast<std::size_t>(find(from))] = find(static_cast<int>(i));
    }
  }
  std::map<std::pair<int, int>, std::vector<int>> parts;  // by level and first node
  std::map<int, int> first;
  for (std::size_t i = 0; i < count; ++i) first.try_emplace(find(static_cast<int>(i)), static_cast<int>(i));
  for (std::size_t i = 0; i < count; ++i) {
    parts[{level[i], first[find(static_cast<int>(i))]}].push_back(static_cast<int>(i));
  }
  std::vector<std::vector<int>> ordered;
  for (auto& [key, nodes] : parts) ordered.push_back(std::move(nodes));
  return ordered;
}

class Job {
 public:
  Job(const CapabilityOptions& options, const JobSinks& sinks) : options_(options), sinks_(sinks) {}

  CapabilityReport run() {
    const EngineOperators* list = engine_operators(options_.target);
    model_ = read_model(options_.model, options_.external_data_dir);
    report_.file = options_.model.name();
    report_.target = options_.target;
    report_.nodes = static_cast<std::size_t>(model_.proto.graph().node_size());
    for_each_graph(model_.proto.graph(), [&](const onnx::GraphProto& graph) {
      report_.inner_nodes += static_cast<std::size_t>(graph.node_size());
    });
    report_.inner_nodes -= report_.nodes;
    const bool asked = list != nullptr && by_engine(*list);
    if (list == nullptr) by_runtime();
    if (list != nullptr && !asked) by_list(*list);
    if (!asked && !options_.plugins.empty()) note({"plugins-without-effect", {}});
    report_.taken = static_cast<std::size_t>(std::count(taken_.begin(), taken_.end(), true));
    cut();
    return std::move(report_);
  }

 private:
  void note(const Note& one) {
    report_.notes.push_back(one);
    sinks_.warn(one);
  }

  void take(const onnx::NodeProto& node, const OperatorVerdict& verdict) {
    taken_.push_back(verdict.taken);
    if (!verdict.taken) add_to(report_.refused, full_name(node), verdict.why, node.name());
    if (verdict.taken && !verdict.condition.empty()) {
      add_to(report_.conditions, full_name(node), verdict.condition, node.name());
    }
  }

  void by_list(const EngineOperators& list) {
    report_.engine = fmt::format("{} {}", list.engine, list.version);
    report_.evidence = "documented, not run";
    report_.source = list.source;
    const int opset = default_opset(model_.proto);
    if (opset < list.lowest_opset || opset > list.highest_opset) {
      note({"opset-outside-list", {{"opset", opset}, {"lowest", list.lowest_opset}, {"highest", list.highest_opset}}});
    }
    const Judge judge(model_, list);
    for (const onnx::NodeProto& node : model_.proto.graph().node()) take(node, judge.of(node));
  }

  /// What the engine's own parser says; false where no engine is there, or it does not say what it means.
  bool by_engine(const EngineOperators& list) {
    EngineFailures failures;
    const bool openvino = options_.target == Target::OpenVino;
    const auto host = find_engine(
        openvino ? EngineChoice::OpenVino : EngineChoice::Any,
        {options_.python, "", options_.seconds, sinks_.interrupted, options_.plugins},
        [](const EngineAbout& about) {
          return about.parses ? std::string() : fmt::format("{} {} is not asked that", about.name, about.version);
        },
        failures);
    if (host == nullptr) return false;
    host->load_plugins();
    const ScratchFolder scratch;
    write_model(model_, scratch / "model.onnx");
    const EngineSupport support = host->supports(scratch / "model.onnx");
    const EngineAbout& about = host->about();
    std::map<int, std::string> reasons;
    for (const EngineRefusal& refusal : support.refusals) {
      const std::vector<int> nodes = meant_by(refusal);
      if (nodes.empty() && refusal.index < 0 && openvino) {
        note({"refusal-without-node", {{"engine", about.name + " " + about.version}, {"why", refusal.text}}});
        return false;
      }
      for (const int node : nodes) reasons.emplace(node, refusal.text);
    }
    report_.engine = about.name + " " + about.version;
    report_.evidence = openvino      ? support.all
                                           ? "its own reader and CPU plugin take the model; nothing was compiled"
                                           : "its own reader names these nodes, the first of each operator that it cannot "
                                             "convert, or its CPU plugin does not take them; nothing was compiled"
                       : support.all ? "its own parser accepts the whole model; nothing was compiled"
                                     : "its own parser was asked node by node; nothing was compiled";
    report_.source = fmt::format("package {} of {}", about.package, about.python);
    // What TensorRT refuses is in no part. Whether a part is marked as supported says no more: where one node of a
    // model is refused, no part of it is. OpenVINO makes no parts.
    std::set<int> in_parts;
    for (const EngineSupport::Part& part : support.parts) in_parts.insert(part.nodes.begin(), part.nodes.end());
    const Judge judge(model_, list);
    std::vector<CapabilityGroup> more, fewer;  // that the list takes and the parser does not, and the other way round
    for (int i = 0; i < model_.proto.graph().node_size(); ++i) {
      const onnx::NodeProto& node = model_.proto.graph().node(i);
      const auto reason = reasons.find(i);
      const bool takes = support.all || ((openvino || in_parts.contains(i)) && reason == reasons.end());
      take(node, {takes, takes ? "" : reason == reasons.end() ? "the parser has no reason" : reason->second, ""});
      const OperatorVerdict listed = judge.of(node);
      if (listed.taken == takes) continue;
      add_to(takes ? fewer : more, full_name(node), listed.why, node.name());
    }
    disagree(list, more, "takes");
    disagree(list, fewer, "does not take");
    return true;
  }

  /// Nodes of the main graph: by index, by an output (within a body perhaps, or what an engine's own names begin with),
  /// or all of an operator.
  std::vector<int> meant_by(const EngineRefusal& refusal) const {
    if (refusal.index >= 0) return {refusal.index};
    std::vector<int> of_operator;
    for (int i = 0; i < model_.proto.graph().node_size(); ++i) {
      const onnx::NodeProto& node = model_.proto.graph().node(i);
      if (refusal.node.empty() && !refusal.op_type.empty() &&
          holds(node, [&](const onnx::NodeProto& inner) { return inner.op_type() == refusal.op_type; })) {
        of_operator.push_back(i);
      }
      if (!refusal.node.empty() &&
          holds(node, [&](const onnx::NodeProto& inner) { return names(inner, refusal.node); })) {
        return {i};
      }
    }
    return of_operator;
  }

  template <class Is>
  static bool holds(const onnx::NodeProto& node, const Is& is) {
    bool found = is(node);
    for_each_body(node, [&](const onnx::GraphProto& body) {
      for (const onnx::NodeProto& inner : body.node()) found = found || holds(inner, is);
    });
    return found;
  }

  static bool names(const onnx::NodeProto& node, const std::string& name) {
    const auto begins = [&](const std::string& own) {
      return !own.empty() && (name == own || name.starts_with(own + "/"));
    };
    return begins(node.name()) || std::ranges::any_of(node.output(), begins);
  }

  void disagree(const EngineOperators& list, const std::vector<CapabilityGroup>& groups, const char* does) {
    for (const CapabilityGroup& group : groups) {
      std::vector<std::string> names;
      for (const std::string& node : group.nodes) names.push_back(printable(node));
      report_.differences.push_back(
          fmt::format("the published list of {} {} {} {} ({}){}", list.engine, list.version, does,
                      fmt::format("{} {}", group.nodes.size(), printable(group.op_type)), list_some(names, 3),
                      group.why.empty() ? "" : ": " + printable_text(group.why)));
    }
  }

  void by_runtime() {
    RuntimeJudge judge(model_, Runtime::load(options_.custom_operators));
    report_.engine = "ONNX Runtime " + judge.runtime().version();
    report_.source = judge.runtime().place();
    report_.evidence = judge.whole() ? "the library loaded the model, CPU provider"
                                     : "the library refused the model; each node was loaded alone, CPU provider";
    const int count = model_.proto.graph().node_size();
    for (int i = 0; i < count; ++i) {
      if (sinks_.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
      if (sinks_.progress) {
        sinks_.progress("loading nodes", static_cast<std::size_t>(i), static_cast<std::size_t>(count));
      }
      take(model_.proto.graph().node(i), judge.of(i));
    }
    if (!judge.whole() && report_.refused.empty()) {
      note({"nodes-load-alone-only", {}});
    }
  }

  void cut() {
    const onnx::GraphProto& graph = model_.proto.graph();
    const std::map<std::string, onnx::TypeProto> types = infer_type_protos(model_);
    if (!options_.output.empty()) std::filesystem::create_directories(options_.output);
    std::map<bool, int> counts;
    for (const std::vector<int>& nodes : cut_by_kind(graph, taken_)) {
      CapabilityPart& part = report_.parts.emplace_back();
      part.taken = taken_[static_cast<std::size_t>(nodes.front())];
      for (const int index : nodes) part.nodes.push_back(graph.node(index).name());
      const int number = counts[part.taken]++;
      if (!options_.output.empty()) write(part, nodes, types, number);
    }
  }

  void write(CapabilityPart& part, const std::vector<int>& nodes, std::map<std::string, onnx::TypeProto> types,
             int number) {
    for (const std::string& name : boundary(model_, nodes)) {
      if (types.contains(name)) continue;
      types[name].mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
      note({"part-input-type-unknown", {{"tensor", name}}});
    }
    const std::filesystem::path file =
        options_.output / fmt::format("{}_{}.onnx", part.taken ? "supported" : "unsupported", number);
    write_model(piece_of(model_, nodes, results(model_, nodes), types), file);
    part.file = file.string();
  }

  const CapabilityOptions& options_;
  JobSinks sinks_;
  Model model_;
  std::vector<bool> taken_;
  CapabilityReport report_;
};

}  // namespace

CapabilityReport inspect_capability(const CapabilityOptions& options, const JobSinks& sinks) {
  return Job(options, sinks).run();
}

}  // namespace vernier
