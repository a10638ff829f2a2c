#include "jobs/common/image_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// An image of `sample`, and which of its dimensions are height and width.
struct Image {
  std::string input;
  Shape shape;
  std::size_t height = 2;
};

bool is_channels(std::int64_t size) { return size == 1 || size == 3 || size == 4; }

/// Which dimension is the height of an image whose height or width is open; nullopt: it is no such image.
std::optional<std::size_t> open_height(const InputInfo& input) {
  if (input.shape.size() != 4) return std::nullopt;
  for (const std::size_t height : {2U, 1U}) {
    const bool open = input.shape[height] < 0 || input.shape[height + 1] < 0;
    if (open && is_channels(input.shape[height == 2 ? 1 : 3])) return height;
  }
  return std::nullopt;
}

std::string size_text(std::int64_t height, std::int64_t width) { return fmt::format("{}x{}", height, width); }
std::string size_of(const Image& image) { return size_text(image.shape[image.height], image.shape[image.height + 1]); }

/// The whole numbers of "[640, 640]"; empty: there is something else.
std::vector<std::int64_t> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    if (std::isdigit(static_cast<unsigned char>(text.front())) == 0) {
      if (std::string_view("[](), x").find(text.front()) == std::string_view::npos) return {};
      text.remove_prefix(1);
      continue;
    }
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc()) return {};
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return numbers;
}

std::optional<std::string> by_metadata(const Model& model, const Image& image) {
  static constexpr std::array<std::string_view, 4> kKeys{"imgsz", "image_size", "img_size", "input_size"};
  for (const onnx::StringStringEntryProto& entry : model.proto.metadata_props()) {
    if (std::ranges::find(kKeys, entry.key()) == kKeys.end()) continue;
    const std::vector<std::int64_t> size = numbers_of(entry.value());
    if (size.empty() || size.size() > 2) continue;
    if (size.front() == image.shape[image.height] && size.back() == image.shape[image.height + 1]) return std::nullopt;
    return fmt::format("its metadata ({}) say {}", entry.key(), size_text(size.front(), size.back()));
  }
  return std::nullopt;
}

/// The shapes that the file records, by tensor.
std::map<std::string, Shape> recorded_shapes(const onnx::GraphProto& graph) {
  std::map<std::string, Shape> shapes;
  for (const auto* values : {&graph.value_info(), &graph.output()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      if (!value.type().tensor_type().has_shape()) continue;
      Shape& shape = shapes[value.name()];
      for (const auto& dim : value.type().tensor_type().shape().dim()) {
        shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
      }
    }
  }
  return shapes;
}

/// Shapes with the inputs as in `sample`, whatever the file records.
std::map<std::string, ValueType> shapes_with(const Model& model, const Sample& sample) {
  Model fed = model;
  onnx::GraphProto& graph = *fed.proto.mutable_graph();
  graph.clear_value_info();
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  for (onnx::ValueInfoProto& input : *graph.mutable_input()) {
    const auto given = sample.find(input.name());
    if (given == sample.end()) continue;
    onnx::TensorShapeProto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.clear_dim();
    for (const std::int64_t size : given->second.shape()) shape.add_dim()->set_dim_value(size);
  }
  return infer_types(fed);
}

/// The first image inside, of four dimensions, whose height or width is another one than the file records.
std::optional<std::string> by_records(const Model& model, const Image& image,
                                      const std::map<std::string, ValueType>& with) {
  const std::map<std::string, Shape> recorded = recorded_shapes(model.proto.graph());
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    for (const std::string& output : node.output()) {
      const auto said = recorded.find(output);
      const auto made = with.find(output);
      if (said == recorded.end() || made == with.end() || said->second.size() != 4) continue;
      const Shape& shape = made->second.shape;
      if (shape.size() != 4) continue;
      const bool other = std::ranges::any_of(std::array{image.height, image.height + 1}, [&](std::size_t i) {
        return said->second[i] > 0 && shape[i] > 0 && said->second[i] != shape[i];
      });
      if (!other) continue;
      return fmt::format("the file records '{}' as {}, and these images make it {}", printable(output),
                         shape_text(said->second), shape_text(shape));
    }
  }
  return std::nullopt;
}

/// A Reshape to rows for a Gemm or MatMul that makes several of one image, or one of several.
std::optional<std::string> by_rows(const Model& model, const std::map<std::string, ValueType>& with) {
  const GraphWalk walk(model);
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (!is_onnx(node, "Reshape") || node.input_size() < 2) continue;
    const auto target = initializer(model, node.input(1));
    const auto data = with.find(node.input(0));
    if (!target || target->dtype() != Dtype::Int64 || target->count() != 2 || data == with.end()) continue;
    const Shape& map = data->second.shape;
    const std::int64_t row = target->int64s()[1];
    if (map.size() != 4 || row <= 0 || std::ranges::any_of(map, [](std::int64_t size) { return size <= 0; })) continue;
    const auto& readers = walk.readers(node.output(0));
    const bool product = std::ranges::any_of(
        readers, [](const onnx::NodeProto* reader) { return is_onnx(*reader, "Gemm") || is_onnx(*reader, "MatMul"); });
    // A row holds whole channels, or it is no map that was flattened.
    const bool whole_maps = row > map[1] && row % map[1] == 0;
    if (!product || !whole_maps || row * map[0] == element_count(map)) continue;
    return fmt::format("'{}' makes rows of {} values, and a map of {} of these images has {}", printable(node.name()),
                       row, shape_text(map), element_count(map) / map[0]);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Note> other_image_size(const Model& model, const SampleSource& samples) {
  for (const InputInfo& input : model_inputs(model)) {
    const std::optional<std::size_t> height = open_height(input);
    if (!height) continue;
    const Sample sample = samples.at(0);
    const auto given = sample.find(input.name);
    if (given == sample.end() || given->second.shape().size() != 4) continue;
    const Image image{input.name, given->second.shape(), *height};
    std::optional<std::string> why = by_metadata(model, image);
    if (!why) {
      const std::map<std::string, ValueType> with = shapes_with(model, sample);
      why = by_records(model, image, with);
      if (!why) why = by_rows(model, with);
    }
    if (!why) continue;
    return Note{"other-image-size", {{"size", size_of(image)}, {"input", input.name}, {"why", *why}}};
  }
  return std::nullopt;
}

}  // namespace vernier
