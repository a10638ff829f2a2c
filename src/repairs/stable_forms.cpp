// Exponentials leave float16 early: exp(11.1) is beyond 65504, exp(-17.4) is 0. Where only their logarithm or their
// ratio is wanted, it can be computed from exponentials between 0 and 1, or by one operator, which engines compute in
// FP32:
//   log(1 + exp(x))         max(x, 0) + log(1 + exp(-|x|))
//   log(sum(exp(x)))        m + log(sum(exp(x - m))), m the largest x
//   exp(x) / sum(exp(x))    Softmax(x)
//   log(Softmax(x))         LogSoftmax(x)
// The first is how numerical libraries compute Softplus; Higham, "Accuracy and Stability of Numerical Algorithms"
// (2002), 27.5, has the second.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/pieces.h"
#include "numerics/grid.h"
#include "repairs/repair.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kSmallestNormal = 0x1p-14;

struct Form {
  enum class Kind { Softplus, LogSumExp, Softmax, LogSoftmax };
  Kind kind = Kind::Softplus;
  std::string x;
  const onnx::NodeProto* inner = nullptr;  // Exp or Softmax
  const onnx::NodeProto* sum = nullptr;    // what adds exponentials up, or 1 to them
  const onnx::NodeProto* last = nullptr;

  std::string_view stable() const {
    static constexpr std::array<std::string_view, 4> kTexts{"max(x, 0) + log(1 + exp(-|x|))",
                                                            "m + log(sum(exp(x - m)))", "Softmax(x)", "LogSoftmax(x)"};
    return kTexts[static_cast<std::size_t>(kind)];
  }
};

bool is_one(const Model& model, const std::string& tensor) {
  const std::optional<Tensor> value = initializer(model, tensor);
  return value && value->dtype() == Dtype::Float32 && value->count() == 1 && value->floats()[0] == 1;
}

/// Over which dimensions a reduction goes, none for all; nullopt: not known before it runs.
std::optional<std::vector<std::int64_t>> reduced_axes(const Model& model, const onnx::NodeProto& reduction) {
  if (attribute_int(reduction, "noop_with_empty_axes", 0) != 0) return std::nullopt;
  if (reduction.input_size() < 2) return attribute_ints(reduction, "axes");
  const std::optional<Tensor> constant = initializer(model, reduction.input(1));
  if (!constant || constant->dtype() != Dtype::Int64) return std::nullopt;
  const std::span<const std::int64_t> axes = constant->int64s();
  return std::vector<std::int64_t>(axes.begin(), axes.end());
}

class Reader {
 public:
  explicit Reader(const Model& model) : model_(model), walk_(model), readers_(count_readers(model)) {}

  /// What ends at `last`.
  std::optional<Form> form_at(const onnx::NodeProto& last) const {
    Form form;
    form.last = &last;
    const bool found = last.op_type() == "Log" ? read_logarithm(form) : last.op_type() == "Div" && read_ratio(form);
    if (!found) return std::nullopt;
    form.x = form.inner->input(0);
    return form;
  }

 private:
  const onnx::NodeProto* maker(const std::string& tensor, std::string_view op_type) const {
    const onnx::NodeProto* node = walk_.maker(tensor);
    return node != nullptr && node->op_type() == op_type ? node : nullptr;
  }
  bool read_by(const onnx::NodeProto& node, int count) const {
    const auto found = readers_.find(node.output(0));
    return found != readers_.end() && found->second == count;
  }

  bool read_logarithm(Form& form) const {
    const std::string& of = form.last->input(0);
    form.kind = Form::Kind::LogSoftmax;
    form.inner = maker(of, "Softmax");
    if (form.inner != nullptr) return true;
    form.sum = walk_.maker(of);
    if (form.sum == nullptr || !read_by(*form.sum, 1)) return false;
    if (form.sum->op_type() == "ReduceSum" && reduced_axes(model_, *form.sum)) {
      form.kind = Form::Kind::LogSumExp;
      form.inner = maker(form.sum->input(0), "Exp");
    } else if (form.sum->op_type() == "Add") {
      form.kind = Form::Kind::Softplus;
      for (const int side : {0, 1}) {
        if (is_one(model_, form.sum->input(1 - side))) form.inner = maker(form.sum->input(side), "Exp");
      }
    }
    return form.inner != nullptr && read_by(*form.inner, 1);
  }

  bool read_ratio(Form& form) const {
    form.kind = Form::Kind::Softmax;
    form.inner = maker(form.last->input(0), "Exp");
    form.sum = maker(form.last->input(1), "ReduceSum");
    if (form.inner == nullptr || form.sum == nullptr || form.sum->input(0) != form.inner->output(0)) return false;
    const auto axes = reduced_axes(model_, *form.sum);
    return axes && axes->size() == 1 && attribute_int(*form.sum, "keepdims", 1) == 1 && read_by(*form.inner, 2) &&
           read_by(*form.sum, 1);
  }

  const Model& model_;
  GraphWalk walk_;
  std::map<std::string, int> readers_;
};

/// How a value on the way leaves float16; empty: it does not, or nothing was measured.
std::string trouble(const Network& network, const Form& form) {
  const auto range_of = [&](const onnx::NodeProto* node) {
    const auto found = node == nullptr ? network.ranges.end() : network.ranges.find(node->output(0));
    return found == network.ranges.end() ? RangeStats() : found->second;
  };
  for (const onnx::NodeProto* node : {form.inner, form.sum}) {
    const RangeStats range = range_of(node);
    if (range.empty()) continue;
    if (static_cast<double>(range.max) > kLargestFloat16) {
      return fmt::format("'{}' reaches {:.3g}", printable(node->output(0)), range.max);
    }
    const bool may_vanish = node == form.sum ? form.kind != Form::Kind::Softplus : form.sum == nullptr;
    if (may_vanish && static_cast<double>(range.min) < kSmallestNormal) {
      return fmt::format("'{}' goes down to {:.3g}", printable(node->output(0)), range.min);
    }
  }
  return "";
}

/// The largest value over the axes that `sum` adds up.
std::string add_largest(Model& model, Pieces& pieces, const Form& form, bool keep) {
  constexpr int kAxesAreAnInput = 18;
  const std::vector<std::int64_t> axes = reduced_axes(model, *form.sum).value();
  std::vector<std::string> inputs{form.x};
  const bool as_input = default_opset(model.proto) >= kAxesAreAnInput && !axes.empty();
  if (as_input) {
    inputs.push_back(pieces.constant("/axes", Tensor::of_int64({static_cast<std::int64_t>(axes.size())}, axes)));
  }
  std::string largest = pieces.add("ReduceMax", inputs);
  if (!as_input && !axes.empty()) set_attribute(pieces.last(), "axes", axes);
  set_attribute(pieces.last(), "keepdims", std::int64_t{keep ? 1 : 0});
  return largest;
}

void add_log_sum_exp(Model& model, Pieces& pieces, const Form& form) {
  const std::string largest = add_largest(model, pieces, form, true);
  const std::string small = pieces.add("Exp", {pieces.add("Sub", {form.x, largest})});
  std::vector<std::string> summed(form.sum->input().begin(), form.sum->input().end());
  summed[0] = small;
  const std::string sum = pieces.add("ReduceSum", summed);
  *pieces.last().mutable_attribute() = form.sum->attribute();
  const bool kept = attribute_int(*form.sum, "keepdims", 1) == 1;
  const std::string logarithm = pieces.add("Log", {sum});
  pieces.add("Add", {logarithm, kept ? largest : add_largest(model, pieces, form, false)});
}

void make_stable(Model& model, const std::string& last) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const onnx::NodeProto* node = find_node(std::as_const(graph), last);
  if (node == nullptr) return;
  const std::optional<Form> form = Reader(model).form_at(*node);
  if (!form) return;
  std::set<std::string> idle;
  for (const onnx::NodeProto* each : {form->inner, form->sum}) {
    if (each != nullptr && (form->sum != nullptr || count_readers(model)[each->output(0)] == 1))
      idle.insert(each->name());
  }
  NamePool names(model);
  Pieces pieces(model, graph, *node, names);
  switch (form->kind) {
    case Form::Kind::Softplus: {
      const std::string one = form->sum->input(form->sum->input(0) == form->inner->output(0) ? 1 : 0);  // of any rank
      const std::string small = pieces.add("Exp", {pieces.add("Neg", {pieces.add("Abs", {form->x})})});
      const std::string logarithm = pieces.add("Log", {pieces.add("Add", {small, one})});
      pieces.add("Add", {pieces.add("Relu", {form->x}), logarithm});
      break;
    }
    case Form::Kind::LogSumExp:
      add_log_sum_exp(model, pieces, *form);
      break;
    case Form::Kind::Softmax:
      pieces.add("Softmax", {form->x});
      set_attribute(pieces.last(), "axis", reduced_axes(model, *form->sum)->front());
      break;
    case Form::Kind::LogSoftmax:
      pieces.add("LogSoftmax", {form->x});
      *pieces.last().mutable_attribute() = form->inner->attribute();
      break;
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    if (graph.node(i).name() != last) continue;
    replace_node(graph, i, pieces.finish());
    break;
  }
  remove_nodes(graph, [&](const onnx::NodeProto& each) { return idle.contains(each.name()); });
  remove_leftovers(model);
}

}  // namespace

std::vector<Proposal> stable_forms(const Network& network, int) {
  std::vector<Proposal> proposals;
  std::optional<Reader> reader;
  for (const onnx::NodeProto& node : network.model.proto.graph().node()) {
    if (node.op_type() != "Log" && node.op_type() != "Div") continue;
    if (network.plan.format_of(node.name()) != Format::Float16) continue;
    if (!reader) reader.emplace(network.model);
    const std::optional<Form> form = reader->form_at(node);
    if (!form) continue;
    const std::string why = trouble(network, *form);
    if (why.empty()) continue;
    Proposal& proposal = proposals.emplace_back();
    for (const onnx::NodeProto* each : {form->inner, form->sum, form->last}) {
      if (each != nullptr) proposal.layers.push_back(each->name());
    }
    // Before opset 13 a Softmax runs over all dimensions from its axis on.
    if (form->kind == Form::Kind::Softmax) proposal.opset = 13;
    proposal.by_output = true;
    proposal.what = fmt::format("'{}' is computed as {}, as {}", printable(node.output(0)), form->stable(), why);
    proposal.rewrite = [last = node.name()](Model& model) { make_stable(model, last); };
  }
  return proposals;
}

}  // namespace vernier
