// Rewrites a model so that a region of it computes with other powers of two.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "model/graph_edit.h"
#include "repairs/factor_degrees.h"
#include "repairs/scaled_region.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

class Rewrite {
 public:
  Rewrite(Model& model, const ScaledRegion& region, int power)
      : model_(model),
        region_(region),
        power_(power),
        names_(model),
        before_(model),
        walk_(before_),
        counts_(count_readers(before_)) {}

  void run() {
    for (const auto& [source, degree] : region_.sources) {
      if (walk_.maker(source) == nullptr) scale_source(source, degree);
    }
    for (const onnx::NodeProto& old : before_.proto.graph().node()) {
      add(old);
      for (const std::string& made : old.output()) {
        if (const auto source = region_.sources.find(made); source != region_.sources.end()) {
          scale_source(made, source->second);
        }
      }
    }
    graph().mutable_node()->Swap(&nodes_);
    remove_leftovers(model_);
  }

 private:
  onnx::GraphProto& graph() { return *model_.proto.mutable_graph(); }
  double factor(int degree) const { return std::exp2(degree * power_); }

  /// The name of a tensor with the factor, where the tensor without it keeps its own.
  const std::string& scaled(const std::string& tensor) {
    std::string& name = scaled_[tensor];
    if (name.empty()) name = names_.unique(tensor + ".scaled");
    return name;
  }

  std::string changed_constant(const std::string& name, const std::function<double(double)>& change) {
    const Tensor old = *initializer(before_, name);
    Tensor value(Dtype::Float32, old.shape());
    std::ranges::transform(old.floats(), value.mutable_floats().begin(),
                           [&](float v) { return static_cast<float>(change(v)); });
    const std::string fresh = names_.unique(name + ".scaled");
    set_initializer(model_, graph(), fresh, value);
    return fresh;
  }

  /// A node that adds a number or multiplies by one, named after `tensor`.
  void add_node(const char* op_type, const std::string& tensor, const std::string& from, const std::string& to,
                double number) {
    const auto value = static_cast<float>(number);
    const std::string constant = names_.unique(tensor + ".factor");
    set_initializer(model_, graph(), constant, Tensor::of({}, {&value, 1}));
    onnx::NodeProto& node = *nodes_.Add();
    node.set_op_type(op_type);
    node.set_name(names_.unique(tensor + ".scale"));
    node.add_input(from);
    node.add_input(constant);
    node.add_output(to);
  }

  /// Neither an output of the network nor read by a body: nothing but the nodes that the walk knows reads it.
  bool read_by_nodes_only(const std::string& tensor) const {
    const auto found = counts_.find(tensor);
    return found == counts_.end() || static_cast<std::size_t>(found->second) == walk_.readers(tensor).size();
  }

  /// The one node behind `tensor`, where it adds a number or multiplies by one.
  const onnx::NodeProto* number_behind(const std::string& tensor, const char* op_type) const {
    const auto& readers = walk_.readers(tensor);
    if (readers.size() != 1 || readers.front()->op_type() != op_type || !read_by_nodes_only(tensor) ||
        region_.nodes.contains(readers.front()->name())) {
      return nullptr;
    }
    return number_of(*readers.front()).empty() ? nullptr : readers.front();
  }

  std::string number_of(const onnx::NodeProto& node) const {
    for (const std::string& input : node.input()) {
      const std::optional<Tensor> value = float_constant(before_, input);
      if (value && value->count() == 1) return input;
    }
    return {};
  }

  /// Where constants made the source, those change.
  void scale_source(const std::string& source, int degree) {
    const onnx::NodeProto* maker = walk_.maker(source);
    const bool only_inside =
        read_by_nodes_only(source) && std::ranges::all_of(walk_.readers(source), [&](const onnx::NodeProto* reader) {
          return region_.nodes.contains(reader->name());
        });
    const std::vector<std::string> constants =
        maker != nullptr && only_inside ? constants_behind(*maker, degree) : std::vector<std::string>();
    onnx::NodeProto* last = constants.empty() ? nullptr : nodes_.Mutable(nodes_.size() - 1);
    for (const std::string& constant : constants) {
      std::ranges::replace(*last->mutable_input(), constant,
                           changed_constant(constant, [&](double v) { return v * factor(degree); }));
    }
    if (!constants.empty()) {
      scaled_[source] = source;
      return;
    }
    add_node("Mul", source, source, scaled(source), factor(degree));
  }

  /// Those that give what a node makes the factor: a power of two, or weights and their bias. A power that is searched
  /// for, up, has to stay a number of its own.
  std::vector<std::string> constants_behind(const onnx::NodeProto& maker, int degree) const {
    constexpr double kAllDigits = 0x1p-10;  // of weights up to that, the steps of float16 below 2^-14 are fine enough
    if (const std::string number = power_of_two(before_, maker); !number.empty()) return {number};
    if (power_ > 0 || region_.nodes.contains(maker.name()) || !has_constant_weights(before_, maker)) return {};
    const Tensor weights = float_constant(before_, maker.input(1)).value();
    const bool large =
        std::ranges::any_of(weights.floats(), [&](float v) { return std::abs(v) * factor(degree) >= kAllDigits; });
    if (!large) return {};
    std::vector<std::string> constants{maker.input(1)};
    for (const int place : scaled_constants(before_, maker)) constants.push_back(maker.input(place));
    return constants;
  }

  void add(const onnx::NodeProto& old) {
    onnx::NodeProto node = old;
    if (const auto shift = shifts_.find(old.name()); shift != shifts_.end()) {
      const std::string number = number_of(old);
      const std::string fresh = changed_constant(number, [&](double v) { return v + shift->second; });
      std::ranges::replace(*node.mutable_input(), number, fresh);
    }
    const auto inside = region_.nodes.find(old.name());
    if (inside == region_.nodes.end()) {
      *nodes_.Add() = node;
      return;
    }
    const int degree = inside->second;
    const bool logarithm = region_.logarithms.contains(old.name());
    const bool folded = region_.folded.contains(old.name());
    for (int i = 0; i < old.input_size(); ++i) {
      const std::string& input = old.input(i);
      const bool with_factor = region_.sources.contains(input) || region_.tensors.contains(input);
      if (with_factor && (region_.sources.contains(input) || region_.restored.contains(input))) {
        node.set_input(i, scaled(input));
      } else if (folded && i < 2 && float_constant(before_, input)) {  // a bias is added without the factor
        const double out = old.op_type() == "Div" ? factor(degree) : 1 / factor(degree);
        node.set_input(i, changed_constant(input, [&](double v) { return v * out; }));
      }
    }
    if (!folded && degree != 0) {
      for (const int i : scaled_constants(before_, old)) {
        node.set_input(i, changed_constant(old.input(i), [&](double v) { return v * factor(degree); }));
      }
    }
    if (logarithm) return add_logarithm(node, degree);
    for (std::string& output : *node.mutable_output()) {
      if (region_.restored.contains(output)) output = scaled(output);
    }
    *nodes_.Add() = node;
    for (const std::string& output : old.output()) {
      if (region_.restored.contains(output)) add_node("Mul", output, scaled(output), output, 1 / factor(degree));
    }
  }

  void add_logarithm(onnx::NodeProto node, int degree) {
    const std::string output = node.output(0);
    const double shift = -degree * power_ * std::numbers::ln2;
    if (const onnx::NodeProto* sum = number_behind(output, "Add")) {
      shifts_[sum->name()] = shift;
      *nodes_.Add() = node;
      return;
    }
    node.set_output(0, scaled(output));
    *nodes_.Add() = node;
    add_node("Add", output, scaled(output), output, shift);
  }

  Model& model_;
  const ScaledRegion& region_;
  const int power_;
  NamePool names_;
  const Model before_;
  const GraphWalk walk_;
  const std::map<std::string, int> counts_;  // of readers, bodies and the network's outputs among them
  Nodes nodes_;                              // of the graph that is made
  std::map<std::string, std::string> scaled_;
  std::map<std::string, double> shifts_;  // of the numbers that nodes behind logarithms add
};

}  // namespace

void scale_region(Model& model, const ScaledRegion& region, int power) { Rewrite(model, region, power).run(); }

}  // namespace vernier
