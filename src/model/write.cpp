#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "model/external_files.h"
#include "model/model.h"
#include "model/notes.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/external_data.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// Page-aligned, so that readers can map each weight.
constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kInlineLimit = 1'900'000'000;

/// The bytes of one initializer that goes beside the model; nullopt for one that stays.
std::optional<Tensor> outside_value(const Model& model, const onnx::TensorProto& tensor, std::size_t threshold) {
  if (tensor.data_type() == onnx::TensorProto::STRING || dtype_bits(static_cast<Dtype>(tensor.data_type())) == 0) {
    return std::nullopt;
  }
  const auto weight = model.weights.find(tensor.name());
  const bool bare = !tensor.has_raw_data() && tensor.float_data().empty() && tensor.int32_data().empty() &&
                    tensor.int64_data().empty() && tensor.double_data().empty() && tensor.uint64_data().empty();
  if (weight == model.weights.end() && bare) return std::nullopt;  // its values were stripped
  Tensor value = weight != model.weights.end() ? weight->second : tensor_of(tensor);
  if (value.byte_size() == 0 || value.byte_size() < threshold) return std::nullopt;
  return value;
}

void point_outside(onnx::TensorProto& tensor, const std::string& location, std::size_t offset, std::size_t length) {
  onnx::TensorProto outside;
  outside.set_name(tensor.name());
  outside.set_doc_string(tensor.doc_string());
  outside.set_data_type(tensor.data_type());
  *outside.mutable_dims() = tensor.dims();
  outside.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto entry = [&](const char* key, const std::string& value) {
    onnx::StringStringEntryProto& pair = *outside.add_external_data();
    pair.set_key(key);
    pair.set_value(value);
  };
  entry("location", location);
  entry("offset", std::to_string(offset));
  entry("length", std::to_string(length));
  tensor = std::move(outside);
}

/// The file that `name` means beside the model, when nothing speaks against it.
fs::path data_path(const Model& model, const fs::path& path, const std::string& name) {
  if (name.empty() || name == "." || name == ".." || fs::path(name).filename() != name) {
    throw Error(ErrorCode::BadValue,
                fmt::format("‹save-external-data› {}: the file lies in the model's folder, so it has a "
                            "name and no folder",
                            printable(name)),
                "a name such as weights.data");
  }
  fs::path full = path.parent_path() / name;
  std::error_code ignored;
  if (full == path || fs::equivalent(full, path, ignored)) {
    throw Error(ErrorCode::WouldOverwrite, fmt::format("‹save-external-data› {}: is the model itself", printable(name)),
                "another name");
  }
  for (const fs::path& source : model.data_files) {
    if (!fs::equivalent(full, source, ignored)) continue;
    throw Error(ErrorCode::WouldOverwrite,
                fmt::format("{}: holds weights of the model that was read, and would be replaced", full.string()),
                "‹save-external-data› with another name, or another folder");
  }
  refuse_data_of_others(path, name);
  return full;
}

void write_external(const Model& model, const fs::path& path, const ExternalDataOptions& options) {
  const std::string own = path.filename().string();
  onnx::ModelProto proto = model.proto;
  if (model.notes) put_back_notes(*model.notes, proto);
  std::vector<onnx::TensorProto*> outside;
  for_each_graph(*proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
      const auto weight = model.weights.find(tensor.name());
      const std::size_t threshold = static_cast<std::size_t>(std::max<std::int64_t>(options.size_threshold, 0));
      if (outside_value(model, tensor, threshold)) {
        outside.push_back(&tensor);
      } else if (weight != model.weights.end()) {
        tensor = proto_of(weight->second, tensor.name());
      }
    }
  });
  const auto write_file = [&](const std::string& name, std::span<onnx::TensorProto* const> tensors) {
    replace_file(data_path(model, path, name), [&](std::ostream& out) {
      std::size_t offset = 0;
      for (onnx::TensorProto* tensor : tensors) {
        const Tensor value = *outside_value(model, *tensor, 0);
        const std::size_t padding = (kAlignment - offset % kAlignment) % kAlignment;
        out.write(std::string(padding, '\0').data(), static_cast<std::streamsize>(padding));
        offset += padding;
        point_outside(*tensor, name, offset, value.byte_size());
        out.write(reinterpret_cast<const char*>(value.bytes().data()), static_cast<std::streamsize>(value.byte_size()));
        offset += value.byte_size();
      }
    });
  };
  if (options.one_file) {
    if (!outside.empty()) write_file(options.file.empty() ? own + ".data" : options.file, outside);
  } else {
    for (std::size_t i = 0; i < outside.size(); ++i) {
      write_file(fmt::format("{}.{}.data", own, i), std::span(outside).subspan(i, 1));
    }
  }
  replace_file(path, [&](std::ostream& out) { proto.SerializeToOstream(&out); });
}

}  // namespace

void write_model(const Model& model, const fs::path& path, const WriteOptions& options) {
  const std::size_t bytes = model.proto.ByteSizeLong() + bytes_beside(model) + (model.notes ? model.notes->bytes : 0);
  if (options.external_data.wanted || bytes > kInlineLimit) {
    write_external(model, path, options.external_data);
    return;
  }
  const onnx::ModelProto whole = whole_proto(model);
  replace_file(path, [&](std::ostream& out) { whole.SerializeToOstream(&out); });
}

}  // namespace vernier
