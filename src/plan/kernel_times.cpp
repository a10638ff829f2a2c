#include "plan/kernel_times.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/operator_traits.h"

namespace vernier {
namespace {

/// Nanoseconds for each of what a kernel counts (bench/kernel_times.py says what that is).
struct Coefficients {
  double multiply_accumulates, gathered, results, call;
};

struct Counts {
  double multiply_accumulates = 0, gathered = 0, results = 0;
};

struct Row {
  std::string_view kind;
  Coefficients in_float, on_codes;
};

// The fits in bench/results/kernel_times.json; tests/source holds this table to them.
constexpr std::array kTimes = {
    Row{"Conv of few channels", {0.01085, 0.14433, 0.23987, 0.00000}, {0.00082, 0.41919, 0.56434, 0.00000}},
    Row{"Conv", {0.00928, 0.11736, 0.00000, 64543.17845}, {0.00153, 0.11980, 0.00000, 17526.33268}},
    Row{"Conv of few results", {0.00000, 0.25420, 4.55305, 181031.84100}, {0.03154, 0.12390, 0.00000, 0.00000}},
    Row{"Conv, pointwise", {0.01087, 0.03218, 0.03218, 16278.64784}, {0.00254, 0.07530, 0.07530, 4548.35160}},
    Row{"Conv, depthwise", {0.00743, 0.00743, 0.03391, 5017.19408}, {0.01949, 0.01949, 0.09685, 0.00000}},
    Row{"Conv, grouped", {0.01031, 0.09923, 0.01103, 0.00000}, {0.00000, 0.21884, 0.02432, 0.00000}},
    Row{"Conv, narrow groups", {0.03151, 0.22263, 0.02474, 61159.13744}, {0.00000, 0.63830, 0.07092, 50051.36463}},
    Row{"Conv, one dimension", {0.01436, 0.14573, 0.33341, 0.00000}, {0.00192, 0.16456, 0.00000, 0.00000}},
    Row{"MatMul", {0.01154, 0.00000, 0.07820, 538.03568}, {0.00039, 0.06062, 0.46875, 1499.41859}},
    Row{"MatMul of a vector", {0.04002, 1.02080, 0.00000, 290.86367}, {0.01385, 0.02915, 3.73798, 1656.25399}},
    Row{"MatMul of activations", {0.01188, 0.00000, 0.13776, 0.00000}, {0.01322, 0.00000, 0.28731, 2290.75265}},
    Row{"Add", {0.00000, 0.00000, 0.12928, 160.48384}, {0.00000, 0.00000, 0.13312, 228.99563}},
    Row{"Mul", {0.00000, 0.00000, 0.14447, 161.11111}, {0.00000, 0.00000, 0.23224, 244.13769}},
    Row{"Sigmoid", {0.00000, 0.00000, 0.19538, 0.00000}, {0.00000, 0.00000, 0.22890, 0.00000}},
    Row{"LeakyRelu", {0.00000, 0.00000, 0.14491, 0.00000}, {0.00000, 0.00000, 0.24328, 4.89727}},
    Row{"Softmax", {0.00000, 0.00000, 0.32776, 509.02410}, {0.00000, 0.00000, 2.20761, 384.78009}},
    Row{"GlobalAveragePool", {0.00000, 0.17752, 0.00000, 1056.13638}, {0.00000, 0.03911, 0.00000, 160.62772}},
    Row{"AveragePool", {0.00000, 0.00000, 0.49184, 1130.55192}, {0.00000, 0.00000, 8.79738, 529.91959}},
    Row{"MaxPool", {0.00000, 0.00000, 0.49231, 1205.73682}, {0.00000, 0.00000, 14.19466, 0.00000}},
    Row{"Transpose", {0.00000, 0.00000, 0.13936, 29.86288}, {0.00000, 0.00000, 0.04274, 41.42953}},
    Row{"SiLU", {0.00000, 0.00000, 0.27478, 157.00891}, {0.00000, 0.00000, 0.00000, 0.00000}},
    Row{"QuantizeLinear", {0.00000, 0.00000, 0.20099, 234.34141}, {0.00000, 0.00000, 0.00000, 0.00000}},
    Row{"DequantizeLinear", {0.00000, 0.00000, 0.11340, 19.43679}, {0.00000, 0.00000, 0.00000, 0.00000}},
};

double time_of(const Coefficients& each, const Counts& counts) {
  return each.multiply_accumulates * counts.multiply_accumulates + each.gathered * counts.gathered +
         each.results * counts.results + each.call;
}

KernelTime time_of(std::string_view kind, const Counts& counts) {
  const auto found = std::ranges::find(kTimes, kind, &Row::kind);
  if (found == kTimes.end()) return {};
  return {time_of(found->in_float, counts), time_of(found->on_codes, counts)};
}

std::string_view kind_of_convolution(const onnx::NodeProto& node, const Shape& data, const Shape& weight) {
  const std::int64_t groups = attribute_int(node, "group", 1);
  if (groups > 1 && groups == data[1]) return "Conv, depthwise";
  if (groups > 1) return data[1] / groups < 16 ? "Conv, narrow groups" : "Conv, grouped";
  if (data.size() == 3) return "Conv, one dimension";
  if (std::all_of(weight.begin() + 2, weight.end(), [](std::int64_t size) { return size == 1; })) {
    return "Conv, pointwise";
  }
  if (data[1] <= 4) return "Conv of few channels";
  return weight[0] <= 4 ? "Conv of few results" : "Conv";
}

/// One vector alone reads the whole matrix for itself.
std::string_view kind_of_product(const Layer& layer, const Shape& data) {
  if (layer.weights.empty()) return "MatMul of activations";
  std::int64_t vectors = 1;
  for (std::size_t i = 0; i + 1 < data.size(); ++i) vectors *= data[i];
  return vectors == 1 ? "MatMul of a vector" : "MatMul";
}

}  // namespace

KernelTime kernel_time(const Layer& layer, const onnx::NodeProto& node,
                       const std::function<Shape(const std::string&)>& shape_of, bool part_of_silu) {
  const Shape data = shape_of(node.input(0));
  const Shape result = shape_of(node.output(0));
  Counts counts;
  counts.results = static_cast<double>(element_count(result));
  counts.gathered = static_cast<double>(element_count(data));
  if (!layer.weighted) {
    KernelTime time = time_of(node.op_type(), counts);
    // GlobalAveragePool counts what it reads, the others what they make.
    if (part_of_silu) time.in_float = node.op_type() == "Mul" ? 0 : time_of("SiLU", counts).in_float;
    return time;
  }
  counts.multiply_accumulates = static_cast<double>(multiply_accumulates(layer, node, shape_of));
  if (!has(node, Trait::Convolves)) return time_of(kind_of_product(layer, data), counts);
  const Shape weight = shape_of(node.input(1));
  if (data.size() < 3 || weight.size() != data.size() || result.size() != data.size()) return {};
  double positions = 1;  // of the kernel, and of the result
  for (std::size_t i = 2; i < data.size(); ++i) positions *= static_cast<double>(result[i] * weight[i]);
  counts.gathered = static_cast<double>(data[0] * data[1]) * positions;
  return time_of(kind_of_convolution(node, data, weight), counts);
}

double border_time(Border border, const Shape& shape) {
  const Counts counts{0, 0, static_cast<double>(element_count(shape))};
  double time = time_of(border == Border::IntoCodes ? "QuantizeLinear" : "DequantizeLinear", counts).in_float;
  // Kernels on codes take pictures with their channels last, those on floats in blocks of channels.
  if (shape.size() == 4) {
    const KernelTime turned = time_of("Transpose", counts);
    time += 2 * (turned.in_float + turned.on_codes);
  }
  return time;
}

double pool_on_codes_time(const Shape& result) {
  return time_of("MaxPool", {0, 0, static_cast<double>(element_count(result))}).on_codes;
}

}  // namespace vernier
