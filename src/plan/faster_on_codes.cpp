#include "plan/faster_on_codes.h"

#include <algorithm>
#include <cstdint>

#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "plan/kernel_times.h"
#include "plan/minimum_cut.h"
#include "plan/target.h"
#include "vernier/format.h"
#include "vernier/target.h"

namespace vernier {
namespace {

constexpr double kWorthIt = 1.1;             // what a kernel on codes has to be faster by: it costs accuracy
constexpr std::int64_t kUnknownLength = 64;  // of a dimension that is not known
constexpr double kUnknownTime = 1e5;         // nanoseconds

std::int64_t picoseconds(double nanoseconds) { return static_cast<std::int64_t>(nanoseconds * 1000); }

class Placing {
 public:
  Placing(const Model& model, const std::vector<Layer>& layers, const std::set<std::string>& candidates,
          const std::map<std::string, ValueType>& types)
      : model_(model), candidates_(candidates), types_(types), walk_(model) {
    for (const Layer& layer : layers) layers_[layer.name] = &layer;
    for (const auto& input : model.proto.graph().input()) inputs_.insert(input.name());
  }

  std::set<std::string> run() {
    const onnx::GraphProto& graph = model_.proto.graph();
    float_ = cut_.add(MinimumCut::kNever, 0);  // inputs, outputs, and whatever has no kernel on codes
    for (const onnx::NodeProto& node : graph.node()) {
      const std::size_t place = place_of(node);
      for (const std::string& output : node.output()) makers_[output] = {place, &node};
    }
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& tensor : tensors_read(node)) readers_[tensor].insert(places_.at(node.name()));
    }
    for (const auto& output : graph.output()) readers_[output.name()].insert(float_);
    for (const auto& [tensor, readers] : readers_) connect(tensor, readers);
    const std::vector<bool> on_codes = cut_.first_side();
    std::set<std::string> faster;
    for (const std::string& name : candidates_) {
      if (const auto place = places_.find(name); place != places_.end() && on_codes[place->second]) faster.insert(name);
    }
    return faster;
  }

 private:
  struct Maker {
    std::size_t place = 0;
    const onnx::NodeProto* node = nullptr;
  };

  Shape shape_of(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    if (type == types_.end() || !type->second.rank_known) return {};
    Shape shape = type->second.shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] < 0) shape[i] = i == 0 ? 1 : kUnknownLength;
    }
    return shape;
  }

  bool known(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    return type != types_.end() && type->second.rank_known;
  }

  std::size_t place_of(const onnx::NodeProto& node) {
    const auto found = layers_.find(node.name());
    const Layer* layer = found == layers_.end() ? nullptr : found->second;
    std::size_t place = float_;
    if (layer != nullptr && candidates_.contains(node.name())) {
      const KernelTime time = time_of(*layer, node);
      place = cut_.add(picoseconds(time.on_codes * kWorthIt), picoseconds(time.in_float));
    } else if (layer != nullptr && (layer->follows || has(node, Trait::Clips) || is_onnx(node, "Resize"))) {
      place = cut_.add();  // passes codes on, or floats
    }
    return places_[node.name()] = place;
  }

  KernelTime time_of(const Layer& layer, const onnx::NodeProto& node) const {
    if (!known(node.input(0)) || !known(node.output(0))) {
      return layer.weighted ? KernelTime{kUnknownTime, kUnknownTime / 2} : KernelTime{};
    }
    const auto shape = [&](const std::string& tensor) { return shape_of(tensor); };
    return kernel_time(layer, node, shape, part_of_silu(node));
  }

  /// A Sigmoid that one Mul reads, or the Mul that reads it beside what it is made of.
  bool part_of_silu(const onnx::NodeProto& node) const {
    const auto gates = [&](const onnx::NodeProto& sigmoid, const onnx::NodeProto& mul) {
      const std::string& gate = sigmoid.output(0);
      return sigmoid.op_type() == "Sigmoid" && walk_.readers(gate).size() == 1 && mul.op_type() == "Mul" &&
             mul.input(mul.input(0) == gate ? 1 : 0) == sigmoid.input(0);
    };
    if (node.op_type() == "Sigmoid") {
      const auto& readers = walk_.readers(node.output(0));
      return !readers.empty() && gates(node, *readers.front());
    }
    return std::ranges::any_of(node.input(), [&](const std::string& input) {
      const onnx::NodeProto* maker = walk_.maker(input);
      return maker != nullptr && gates(*maker, node);
    });
  }

  /// A tensor costs a QuantizeLinear where floats are made and codes read, and a DequantizeLinear the other way round.
  void connect(const std::string& tensor, const std::set<std::size_t>& readers) {
    const auto found = makers_.find(tensor);
    if (found == makers_.end() && !inputs_.contains(tensor)) return;  // a constant
    const Maker maker = found == makers_.end() ? Maker{float_, nullptr} : found->second;
    const Shape shape = shape_of(tensor);
    double into_codes = border_time(Border::IntoCodes, shape);
    if (maker.node != nullptr && maker.node->op_type() == "MaxPool") into_codes += pool_on_codes_time(shape);
    for (const onnx::NodeProto* reader : walk_.readers(tensor)) {
      if (reader->op_type() == "MaxPool") into_codes += pool_on_codes_time(shape_of(reader->output(0)));
    }
    const double into_floats = gives_floats(maker) ? 0 : border_time(Border::IntoFloats, shape);
    const std::size_t quantized = cut_.add();
    const std::size_t dequantized = cut_.add();
    cut_.connect(quantized, maker.place, picoseconds(into_codes));
    cut_.connect(maker.place, dequantized, picoseconds(into_floats));
    for (const std::size_t reader : readers) {
      if (reader == maker.place) continue;
      cut_.connect(reader, quantized, MinimumCut::kNever);
      cut_.connect(dequantized, reader, MinimumCut::kNever);
    }
  }

  /// Products of matrices on codes give floats as well as codes.
  static bool gives_floats(const Maker& maker) {
    if (maker.node == nullptr) return false;
    const ScaledOperator* row = scaled_scheme(Target::OnnxRuntime, Format::UInt8).find(maker.node->op_type());
    return row != nullptr && row->result == ResultGrid::Either;
  }

  const Model& model_;
  const std::set<std::string>& candidates_;
  const std::map<std::string, ValueType>& types_;
  const GraphWalk walk_;
  std::map<std::string, const Layer*> layers_;
  MinimumCut cut_;
  std::size_t float_ = 0;
  std::map<std::string, std::size_t> places_;  // of nodes
  std::map<std::string, Maker> makers_;
  std::map<std::string, std::set<std::size_t>> readers_;
  std::set<std::string> inputs_;
};

}  // namespace

std::set<std::string> faster_on_codes(const Model& model, const std::vector<Layer>& layers,
                                      const std::set<std::string>& candidates,
                                      const std::map<std::string, ValueType>& types) {
  return Placing(model, layers, candidates, types).run();
}

}  // namespace vernier
