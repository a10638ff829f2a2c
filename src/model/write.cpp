#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/file.h"
#include "core/text.h"
#include "model/model.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// Page-aligned, so that readers can map each weight.
constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kInlineLimit = 1'900'000'000;

void write_external(const Model& model, const fs::path& path) {
  const std::string data_name = path.filename().string() + ".data";
  onnx::ModelProto proto = model.proto;
  replace_file(path.parent_path() / data_name, [&](std::ostream& out) {
    std::size_t offset = 0;
    for_each_graph(*proto.mutable_graph(), [&](onnx::GraphProto& graph) {
      for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
        const auto weight = model.weights.find(tensor.name());
        if (weight == model.weights.end()) continue;
        const std::size_t padding = (kAlignment - offset % kAlignment) % kAlignment;
        out.write(std::string(padding, '\0').data(), static_cast<std::streamsize>(padding));
        offset += padding;
        tensor.clear_external_data();
        const auto entry = [&](const char* key, const std::string& value) {
          onnx::StringStringEntryProto& pair = *tensor.add_external_data();
          pair.set_key(key);
          pair.set_value(value);
        };
        entry("location", data_name);
        entry("offset", std::to_string(offset));
        entry("length", std::to_string(weight->second.byte_size()));
        out.write(reinterpret_cast<const char*>(weight->second.bytes().data()),
                  static_cast<std::streamsize>(weight->second.byte_size()));
        offset += weight->second.byte_size();
      }
    });
  });
  replace_file(path, [&](std::ostream& out) { proto.SerializeToOstream(&out); });
}

}  // namespace

void write_model(const Model& model, const fs::path& path, const WriteOptions& options) {
  std::size_t bytes = model.proto.ByteSizeLong();
  for (const auto& [name, weight] : model.weights) bytes += weight.byte_size();
  if (options.external_data || bytes > kInlineLimit) {
    write_external(model, path);
    return;
  }
  const onnx::ModelProto whole = whole_proto(model);
  replace_file(path, [&](std::ostream& out) { whole.SerializeToOstream(&out); });
}

}  // namespace vernier
