#include "jobs/reduce/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <set>
#include <span>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

/// tensor[..., first:second, ...] along `axis`.
Tensor part_of(const Tensor& tensor, std::size_t axis, Range range) {
  Shape shape = tensor.shape();
  const auto bytes = static_cast<std::size_t>(dtype_bits(tensor.dtype()) / 8);
  std::size_t outer = 1;
  std::size_t inner = bytes;
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(shape[i]);
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  const auto length = static_cast<std::size_t>(shape[axis]);
  const auto wanted = static_cast<std::size_t>(range.second - range.first);
  shape[axis] = range.second - range.first;
  Tensor part(tensor.dtype(), shape);
  const std::span<std::byte> to = part.mutable_bytes();
  const std::span<const std::byte> from = tensor.bytes();
  for (std::size_t i = 0; i < outer; ++i) {
    std::memcpy(to.data() + i * wanted * inner,
                from.data() + (i * length + static_cast<std::size_t>(range.first)) * inner, wanted * inner);
  }
  return part;
}

bool has_whole_bytes(const Tensor& tensor) { return dtype_bits(tensor.dtype()) >= 8; }

/// ONNX Runtime's blocked convolution does not look whether the channels of its input are those of its weight: it would
/// run, and give numbers of a network that is none.
void require_channels(const Model& model) {
  const std::map<std::string, ValueType> types = infer_types(model);
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    const bool transposed = node.op_type() == "ConvTranspose";
    if ((node.op_type() != "Conv" && !transposed) || node.input_size() < 2) continue;
    const std::optional<Tensor> weight = initializer(model, node.input(1));
    const auto data = types.find(node.input(0));
    if (!weight || weight->shape().size() < 3 || data == types.end() || !data->second.rank_known) continue;
    const std::int64_t channels = data->second.shape.size() < 2 ? 0 : data->second.shape[1];
    const std::int64_t read = transposed ? weight->shape()[0] : weight->shape()[1] * attribute_int(node, "group", 1);
    if (channels < 0 || channels == read) continue;
    throw Error(ErrorCode::NotMeasurable, fmt::format("node '{}' reads {} channels, and its input has {}",
                                                      printable(node.name()), read, channels));
  }
}

/// One dimension that can be halved, and how.
struct DimensionHandle {
  std::string what;
  std::int64_t size;
  std::function<void(Shrunk&, Range)> take;  // keeps that part
};

class Shrinker {
 public:
  Shrinker(const Model& model, const std::map<std::string, Shape>& shapes) : shapes_(shapes) {
    now_.model = model;
    for (const auto& [name, shape] : shapes) {
      for (const std::int64_t dim : shape) now_.crops[name].emplace_back(0, dim);
    }
  }

  /// Handles of the model as it is now.
  std::vector<DimensionHandle> handles() const {
    std::vector<DimensionHandle> found;
    const onnx::GraphProto& graph = now_.model.proto.graph();
    for (int i = 0; i < graph.node_size(); ++i) add_weighted(graph.node(i), i, found);
    add_shared_axes(found);
    for (const auto& [name, crops] : now_.crops) {
      for (std::size_t axis = 0; axis < crops.size(); ++axis) {
        const std::int64_t size = crops[axis].second - crops[axis].first;
        if (size < 2) continue;
        found.push_back({fmt::format("input {} axis {}", printable(name), axis), size,
                         [name = name, axis](Shrunk& shrunk, Range range) { crop_input(shrunk, name, axis, range); }});
      }
    }
    return found;
  }

  Shrunk& now() { return now_; }

 private:
  static void crop_input(Shrunk& shrunk, const std::string& name, std::size_t axis, Range range) {
    Range& kept = shrunk.crops.at(name)[axis];
    kept = {kept.first + range.first, kept.first + range.second};
    Shape shape;
    for (const Range& dim : shrunk.crops.at(name)) shape.push_back(dim.second - dim.first);
    override_input_shapes(shrunk.model, {{name, shape}}, "shrink");
  }

  /// An axis that several inputs have in the same length, as those of an Add do: all together.
  void add_shared_axes(std::vector<DimensionHandle>& found) const {
    std::map<std::pair<std::size_t, std::int64_t>, std::vector<std::pair<std::string, std::size_t>>> alike;
    for (const auto& [name, crops] : now_.crops) {
      for (std::size_t axis = 0; axis < crops.size(); ++axis) {
        alike[{crops.size() - axis, crops[axis].second - crops[axis].first}].emplace_back(name, axis);
      }
    }
    for (const auto& [place, inputs] : alike) {
      if (inputs.size() < 2 || place.second < 2) continue;
      found.push_back({fmt::format("axis -{} of {}", place.first, plural(inputs.size(), "input")), place.second,
                       [inputs = inputs](Shrunk& shrunk, Range range) {
                         for (const auto& [name, axis] : inputs) crop_input(shrunk, name, axis, range);
                       }});
    }
  }

  static void cut_weight(Shrunk& shrunk, const std::string& name, std::size_t axis, Range range) {
    onnx::GraphProto* owner = owner_of_initializer(shrunk.model, name);
    const std::optional<Tensor> weight = initializer(shrunk.model, name);
    if (owner == nullptr || !weight || axis >= weight->shape().size() || !has_whole_bytes(*weight)) {
      throw Error(ErrorCode::NotMeasurable, "not a weight that can be cut");
    }
    set_initializer(shrunk.model, *owner, name, part_of(*weight, axis, range));
  }

  bool read_once(const std::string& name) const { return count_readers(now_.model)[name] == 1; }

  void add_weighted(const onnx::NodeProto& node, int index, std::vector<DimensionHandle>& found) const {
    if (node.input_size() < 2 || !of_onnx(node)) return;
    const std::optional<Tensor> weight = initializer(now_.model, node.input(1));
    if (!weight || !read_once(node.input(1))) return;
    const bool from_input = now_.crops.contains(node.input(0)) && read_once(node.input(0));
    bool to_output = false;
    for (const onnx::ValueInfoProto& output : now_.model.proto.graph().output()) {
      to_output = to_output || output.name() == node.output(0);
    }
    to_output = to_output && read_once(node.output(0));
    const std::string bias = node.input_size() > 2 ? node.input(2) : std::string();
    const auto add = [&](const std::string& what, std::int64_t size, std::function<void(Shrunk&, Range)> take) {
      if (size >= 2) found.push_back({fmt::format("{} of {}", what, printable(node.name())), size, std::move(take)});
    };
    const std::string input = node.input(0);
    const std::string name = node.input(1);
    if (node.op_type() == "Conv" && weight->shape().size() >= 3) {
      const std::int64_t groups = attribute_int(node, "group", 1);
      if (groups == 1 && to_output) {
        add("output channels", weight->shape()[0], [=](Shrunk& shrunk, Range range) {
          cut_weight(shrunk, name, 0, range);
          if (!bias.empty()) cut_weight(shrunk, bias, 0, range);
        });
      }
      if (groups == 1 && from_input) {
        add("input channels", weight->shape()[1], [=](Shrunk& shrunk, Range range) {
          cut_weight(shrunk, name, 1, range);
          crop_input(shrunk, input, 1, range);
        });
      }
      if (groups > 1 && groups == weight->shape()[0] && to_output && from_input) {
        add("channels", groups, [=](Shrunk& shrunk, Range range) {
          cut_weight(shrunk, name, 0, range);
          if (!bias.empty()) cut_weight(shrunk, bias, 0, range);
          crop_input(shrunk, input, 1, range);
          set_attribute(*shrunk.model.proto.mutable_graph()->mutable_node(index), "group", range.second - range.first);
        });
      }
    }
    if (node.op_type() == "MatMul" && weight->shape().size() == 2) {
      if (to_output) {
        add("columns", weight->shape()[1], [=](Shrunk& shrunk, Range range) { cut_weight(shrunk, name, 1, range); });
      }
      if (from_input) {
        const std::size_t last = now_.crops.at(input).size() - 1;
        add("rows", weight->shape()[0], [=](Shrunk& shrunk, Range range) {
          cut_weight(shrunk, name, 0, range);
          crop_input(shrunk, input, last, range);
        });
      }
    }
    if (node.op_type() == "Gemm" && weight->shape().size() == 2 && attribute_int(node, "transA", 0) == 0) {
      const std::size_t columns = attribute_int(node, "transB", 0) == 0 ? 1 : 0;
      if (to_output) {
        add("columns", weight->shape()[columns], [=](Shrunk& shrunk, Range range) {
          cut_weight(shrunk, name, columns, range);
          if (!bias.empty()) cut_weight(shrunk, bias, 0, range);
        });
      }
      if (from_input) {
        add("rows", weight->shape()[1 - columns], [=](Shrunk& shrunk, Range range) {
          cut_weight(shrunk, name, 1 - columns, range);
          crop_input(shrunk, input, 1, range);
        });
      }
    }
  }

  std::map<std::string, Shape> shapes_;
  Shrunk now_;
};

}  // namespace

Sample crop(const Sample& sample, const std::map<std::string, Crop>& crops) {
  Sample cropped = sample;
  for (const auto& [name, ranges] : crops) {
    const auto found = cropped.find(name);
    if (found == cropped.end()) continue;
    for (std::size_t axis = 0; axis < ranges.size() && axis < found->second.shape().size(); ++axis) {
      if (ranges[axis].second > found->second.shape()[axis]) {
        throw Error(ErrorCode::Unlike, fmt::format("samples of input '{}' differ in shape", printable(name)));
      }
      if (ranges[axis].first != 0 || ranges[axis].second != found->second.shape()[axis]) {
        found->second = part_of(found->second, axis, ranges[axis]);
      }
    }
  }
  return cropped;
}

Shrunk shrink(const Model& model, const std::map<std::string, Shape>& input_shapes,
              const std::function<bool(const Shrunk&)>& is_bad, std::vector<std::string>& notes) {
  Shrinker shrinker(model, input_shapes);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> sizes;  // before, after
  std::set<std::string> stuck;
  for (bool any = true; any;) {
    any = false;
    for (const DimensionHandle& handle : shrinker.handles()) {
      if (stuck.contains(handle.what)) continue;
      const std::int64_t half = handle.size / 2;
      bool taken = false;
      for (const Range& range : {Range{0, half}, Range{half, handle.size}}) {
        Shrunk attempt = shrinker.now();
        try {
          handle.take(attempt, range);
          require_channels(attempt.model);
        } catch (const Error&) {
          continue;  // this dimension does not go with the others
        }
        if (!is_bad(attempt)) continue;
        shrinker.now() = std::move(attempt);
        auto& [before, after] = sizes.try_emplace(handle.what, handle.size, handle.size).first->second;
        after = range.second - range.first;
        taken = any = true;
        break;
      }
      if (!taken) stuck.insert(handle.what);
      if (taken) break;  // the other handles speak of the model as it was
    }
  }
  for (const auto& [what, size] : sizes) notes.push_back(fmt::format("{}: {} -> {}", what, size.first, size.second));
  return shrinker.now();
}

}  // namespace vernier
