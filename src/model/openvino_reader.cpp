#include "model/openvino_reader.h"

#include <algorithm>
#include <cstddef>

#include "model/contents.h"
#include "model/graph_edit.h"
#include "model/model.h"
#include "model/operator_traits.h"

namespace vernier {
namespace {

/// The windows of a pool along one dimension.
struct Windows {
  std::int64_t data = 0;    // its size; below 1: unknown
  std::int64_t taps = 1;    // of a kernel
  std::int64_t kernel = 1;  // with its dilation
  std::int64_t stride = 1;
  std::int64_t before = 0, behind = 0;

  std::int64_t with_ceil() const { return (data + before + behind - kernel + stride - 1) / stride + 1; }
  /// ONNX drops a last window that starts behind the data.
  bool drops_last() const { return (with_ceil() - 1) * stride >= data + before; }
  /// How far the last window that is left reaches beyond the padding; below 0: not as far as that.
  std::int64_t beyond() const {
    const std::int64_t count = with_ceil() - (drops_last() ? 1 : 0);
    return (count - 1) * stride + kernel - data - before - behind;
  }
};

/// Of a pool with ceil_mode and explicit padding; empty for others.
std::vector<Windows> windows_of(const onnx::NodeProto& node, const Shape& data) {
  const onnx::AttributeProto* automatic = find_attribute(node, "auto_pad");
  if (attribute_int(node, "ceil_mode", 0) == 0) return {};
  if (automatic != nullptr && !automatic->s().empty() && automatic->s() != "NOTSET") return {};
  const std::vector<std::int64_t> kernel = attribute_ints(node, "kernel_shape");
  const std::vector<std::int64_t> pads = attribute_ints(node, "pads");
  const std::vector<std::int64_t> strides = attribute_ints(node, "strides");
  const std::vector<std::int64_t> dilations = attribute_ints(node, "dilations");
  const std::size_t dims = kernel.size();
  const auto fits = [&](const std::vector<std::int64_t>& values, std::size_t size) {
    return values.empty() || values.size() == size;
  };
  if (!fits(pads, 2 * dims) || !fits(strides, dims) || !fits(dilations, dims)) return {};
  std::vector<Windows> windows(dims);
  for (std::size_t i = 0; i < dims; ++i) {
    if (data.size() == dims + 2) windows[i].data = data[i + 2];
    windows[i].taps = kernel[i];
    windows[i].kernel = (kernel[i] - 1) * (dilations.empty() ? 1 : dilations[i]) + 1;
    windows[i].stride = std::max<std::int64_t>(strides.empty() ? 1 : strides[i], 1);
    windows[i].before = pads.empty() ? 0 : pads[i];
    windows[i].behind = pads.empty() ? 0 : pads[dims + i];
  }
  return windows;
}

}  // namespace

int opset_read_by_openvino(const onnx::NodeProto& node, int opset) {
  // The axes are an input from opset 18 on; of the attribute in front of that it knows nothing.
  constexpr int kAxesAreAnInput = 18, kSoftmaxAlongOneAxis = 13;
  const bool reduces = is_onnx(node, "ReduceL1") || is_onnx(node, "ReduceLogSum") || is_onnx(node, "ReduceLogSumExp");
  if (reduces && opset >= 13 && opset < kAxesAreAnInput && find_attribute(node, "axes") != nullptr) {
    return kAxesAreAnInput;
  }
  const bool along_last = attribute_int(node, "axis", 1) == -1;
  if (is_onnx(node, "Softmax") && opset >= 11 && opset < kSoftmaxAlongOneAxis && !along_last) {
    return kSoftmaxAlongOneAxis;
  }
  return opset;
}

int opset_read_by_openvino(const onnx::ModelProto& model) {
  const int opset = default_opset(model);
  int wanted = opset;
  for_each_graph(model.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) wanted = std::max(wanted, opset_read_by_openvino(node, opset));
  });
  return wanted;
}

bool lacks_attribute_for_openvino(const onnx::NodeProto& node) {
  return is_onnx(node, "RoiAlign") && find_attribute(node, "sampling_ratio") == nullptr;
}

bool averages_beyond_padding(const onnx::NodeProto& node, const Shape& data) {
  if (!is_onnx(node, "AveragePool") || attribute_int(node, "count_include_pad", 0) == 0) return false;
  const std::vector<Windows> windows = windows_of(node, data);
  const bool pads = std::ranges::any_of(windows, [](const Windows& along) { return along.before + along.behind > 0; });
  return pads && std::ranges::any_of(windows, [](const Windows& along) {
           return along.data < 1 ? along.stride > 1 : along.beyond() > 0;
         });
}

std::optional<std::vector<std::int64_t>> pads_behind_pad(const onnx::NodeProto& node, const Shape& data) {
  if (!averages_beyond_padding(node, data)) return std::nullopt;
  const std::vector<Windows> windows = windows_of(node, data);
  std::vector<std::int64_t> pads(2 * windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const std::int64_t beyond = std::max<std::int64_t>(windows[i].beyond(), 0);
    if (windows[i].data < 1 || beyond >= windows[i].taps) return std::nullopt;
    pads[windows.size() + i] = beyond;
  }
  return pads;
}

bool drops_window(const onnx::NodeProto& node, const Shape& data) {
  if (!is_onnx(node, "MaxPool") && !is_onnx(node, "AveragePool")) return false;
  return std::ranges::any_of(windows_of(node, data),
                             [](const Windows& along) { return along.data > 0 && along.drops_last(); });
}

std::optional<std::vector<std::int64_t>> pads_of_dropped_window(const onnx::NodeProto& node, const Shape& data) {
  if (!drops_window(node, data) || averages_beyond_padding(node, data)) return std::nullopt;
  const std::vector<Windows> windows = windows_of(node, data);
  std::vector<std::int64_t> pads(2 * windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Windows& along = windows[i];
    pads[i] = along.before;
    pads[windows.size() + i] = along.behind + std::max<std::int64_t>(along.beyond(), 0);
    if (along.data < 1 || pads[windows.size() + i] >= along.taps) return std::nullopt;
  }
  return pads;
}

}  // namespace vernier
