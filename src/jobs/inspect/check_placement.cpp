// Which Q/DQ pairs an engine cannot fuse: by rules; for ONNX Runtime beside what its optimizer really did.

#include "vernier/check_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "engines/onnxruntime/optimized_graph.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/invalid_nodes.h"
#include "jobs/common/model_file.h"
#include "jobs/common/runtime_check.h"
#include "jobs/common/sources.h"
#include "jobs/common/typed_file.h"
#include "jobs/engine/compiler.h"
#include "model/operator_traits.h"
#include "plan/operators/operators.h"
#include "plan/qdq_defects.h"
#include "plan/rules/rules.h"
#include "plan/rules/tensorrt_refusals.h"
#include "plan/simulate_typed.h"
#include "vernier/error.h"
#include "vernier/report/check_placement.h"
#include "vernier/report/note_text.h"

namespace vernier {
namespace {

void count_pairs(const QdqGraph& graph, CheckPlacementReport& report) {
  for (const onnx::NodeProto& node : graph.graph().node()) {
    if (QdqGraph::quantizes(node) && !graph.constant(node.input(0))) ++report.quantizers;
    if (!QdqGraph::dequantizes(node)) continue;
    ++(graph.of_constant(node) ? report.stored_constants : report.dequantizers);
  }
}

/// What is left in the optimized graph decides: a finding about a node that became a kernel on codes is dropped, and a
/// node that still reads dequantized data without a finding gets one.
void verify_by_running(const std::shared_ptr<const Runtime>& runtime, const Model& file,
                       const std::vector<QdqGraph>& graphs, CheckPlacementReport& report) {
  const onnx::ModelProto optimized = optimized_graph(runtime, file);
  report.ran = true;
  std::map<std::string, const onnx::NodeProto*> made_by;
  std::set<std::string> stored;
  for_each_graph(optimized.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) made_by[output] = &node;
    }
    for (const onnx::TensorProto& tensor : graph.initializer()) stored.insert(tensor.name());
  });
  std::set<std::string> stored_in_node;            // nodes that hold a weight in codes
  std::map<std::string, std::string> still_float;  // node -> operator, reading dequantized data
  for_each_graph(optimized.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (QdqGraph::quantizes(node)) ++report.quantizers_left;
      if (QdqGraph::dequantizes(node)) ++report.dequantizers_left;
      if (has(node, Trait::ComputesOnCodes | Trait::StoresCodes)) ++report.integer_kernels;
      if (has(node, Trait::StoresCodes)) stored_in_node.insert(node.name());
      if (QdqGraph::quantizes(node) || QdqGraph::dequantizes(node)) continue;
      for (const std::string& input : node.input()) {
        const auto made = made_by.find(input);
        if (made == made_by.end() || !QdqGraph::dequantizes(*made->second) || stored.contains(made->second->input(0)))
          continue;
        still_float[node.name()] = node.op_type();
      }
    }
  });
  const auto decides = [&](const PlacementFinding& finding) {
    if (finding.rule == kExpandedWeight) return !stored_in_node.contains(finding.node);
    return finding.rule == "one-input-in-float" || finding.rule == kRefusedToRun;
  };
  std::map<std::string, std::string> op_types;
  for (const QdqGraph& graph : graphs) {
    for (const onnx::NodeProto& node : graph.graph().node()) op_types[node.name()] = node.op_type();
  }
  std::erase_if(report.findings, [&](const PlacementFinding& finding) {
    const std::string& op_type = op_types[finding.node];
    return !op_type.ends_with("QuantizeLinear") && op_type != "DequantizeLinear" &&
           !still_float.contains(finding.node) && !decides(finding);
  });
  std::set<std::string> found;
  for (const PlacementFinding& finding : report.findings) found.insert(finding.node);
  for (const QdqGraph& graph : graphs) {
    for (const onnx::NodeProto& node : graph.graph().node()) {
      const auto left = still_float.find(node.name());
      if (left == still_float.end() || found.contains(node.name()) || left->second != node.op_type()) continue;
      const bool on_purpose = std::ranges::none_of(node.output(), [&](const std::string& output) {
        return std::ranges::any_of(graph.readers(output),
                                   [](const auto* reader) { return QdqGraph::quantizes(*reader); });
      });
      // Float behind the last dequantizer is how a quantized network ends, and a weight in float makes a float layer.
      const bool float_weight =
          has_weight(node) && node.input_size() > 1 && graph.dequantizer(node.input(1)) == nullptr;
      if (float_weight || (on_purpose && !has_weight(node))) continue;
      report.findings.push_back(
          {"left-in-float", node.name(),
           fmt::format(
               "{} still reads dequantized data in the optimized graph, for a reason that vernier does not know",
               printable(node.op_type())),
           "compare its pairs with those of a layer that is fused"});
    }
  }
}

/// What no engine takes, whatever its rules are: pairs, else nodes.
std::vector<PlacementFinding> refused_places(const std::shared_ptr<const Model>& given, const Model& file,
                                             const CheckPlacementOptions& options, const JobSinks& sinks) {
  std::vector<PlacementFinding> findings;
  for (QdqDefect& defect : find_qdq_defects(file)) {
    if (defect.refused_on(options.target))
      findings.push_back(
          {std::move(defect.kind), std::move(defect.node), std::move(defect.text), std::move(defect.cure)});
  }
  std::vector<FoundDefect> defects;
  if (options.target == Target::OnnxRuntime) defects = repeated_name_defects(*given, /*refused=*/true);
  if (findings.empty() && !options.checked) {
    std::ranges::move(invalid_nodes(given, options.custom_operators, sinks), std::back_inserter(defects));
  }
  for (FoundDefect& defect : defects) {
    findings.push_back(
        {std::move(defect.kind), std::move(defect.node), std::move(defect.text), std::move(defect.cure)});
  }
  return findings;
}

/// What its kernels refuse at their first run, unless a rule has said so.
void run_once(const std::shared_ptr<const Runtime>& runtime, const Model& file, const JobSinks& sinks,
              CheckPlacementReport& report) {
  const bool known = std::ranges::any_of(report.findings,
                                         [](const PlacementFinding& finding) { return finding.rule == kRefusedToRun; });
  if (known) return;
  std::optional<RuntimeCheck> check;
  try {
    check = try_on_runtime(runtime, file, *samples_for(file, SourceOptions(), sinks));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    return;  // inputs that nobody can make up
  }
  if (!check) return;
  const std::optional<Note> note = refusal_note(*check, runtime->version());
  if (!note) return;
  PlacementFinding finding{check->changed_db ? "changed-result" : std::string(kRefusedToRun), check->node,
                           note_text(*note), "fewer optimizations, or another form of these pairs"};
  finding.computes_otherwise = check->changed_db.has_value();
  report.findings.push_back(std::move(finding));
}

/// Operators on quantized values that the engine's published list does not have: no rule about pairs looks at them.
std::vector<PlacementFinding> not_listed(const Model& file, Target target) {
  std::vector<PlacementFinding> findings;
  const EngineOperators* const list = engine_operators(target);
  if (list == nullptr) return findings;
  const NodeSurroundings around(file);
  for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (!has(node, Trait::ComputesOnCodes | Trait::StoresCodes)) continue;
      const OperatorVerdict verdict = list->verdict(around, node);
      if (verdict.taken) continue;
      findings.push_back({std::string(kOperatorNotListed), node.name(),
                          fmt::format("{} is not in {} {}'s list of operators: {}", printable(node.op_type()),
                                      list->engine, list->version, verdict.why),
                          "quantize to Q/DQ pairs, which it reads (in ONNX Runtime: quant_format=QuantFormat.QDQ)"});
    }
  });
  return findings;
}

}  // namespace

CheckPlacementReport check_placement(const CheckPlacementOptions& options, const JobSinks& sinks) {
  std::optional<Compiler> compiler;
  if (options.compile) compiler.emplace(for_target(*options.compile, options.target), sinks);
  const auto given = std::make_shared<const Model>(read_model(options.model));
  const Model read = as_typed_file(*given);
  const Model file = normalized_file(read);
  const std::vector<QdqGraph> graphs = QdqGraph::all_of(file);
  CheckPlacementReport report;
  report.file = options.model.name();
  report.target = options.target;
  for (const QdqGraph& graph : graphs) {
    count_pairs(graph, report);
    std::ranges::move(apply_rules(graph, options.target), std::back_inserter(report.findings));
  }
  std::vector<PlacementFinding> refused = refused_places(given, file, options, sinks);
  if (options.target == Target::OnnxRuntime) {
    const std::shared_ptr<const Runtime> runtime = Runtime::load(options.custom_operators);
    try {
      verify_by_running(runtime, read, graphs, report);
    } catch (const Error& error) {
      // It may refuse the file for what is wrong with its pairs: then that is the answer.
      if (refused.empty() || error.kind() != ErrorKind::Backend) throw;
    }
    if (report.ran && refused.empty()) run_once(runtime, read, sinks, report);
  }
  report.findings.insert(report.findings.begin(), std::make_move_iterator(refused.begin()),
                         std::make_move_iterator(refused.end()));
  std::ranges::move(not_listed(file, options.target), std::back_inserter(report.findings));
  if (options.target == Target::TensorRt) {
    std::ranges::move(tensorrt_refusals(read), std::back_inserter(report.findings));
    if (const auto note = shared_names_note(*given)) report.notes.push_back(*note);
  }
  if (compiler) report.compiled = compiler->compile(ModelFile(options.model).path());
  return report;
}

}  // namespace vernier
