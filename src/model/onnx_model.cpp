#include "vernier/onnx_model.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/model.h"
#include "model/raw_proto.h"
#include "vernier/external_data.h"

namespace vernier {

OnnxModel OnnxModel::of_bytes(std::shared_ptr<const std::byte> bytes, std::size_t size, std::string name,
                              std::filesystem::path folder) {
  OnnxModel made;
  made.bytes_ = std::move(bytes);
  made.size_ = size;
  made.name_ = std::move(name);
  made.folder_ = std::move(folder);
  return made;
}

OnnxModel OnnxModel::of_bytes(std::string bytes, std::string name, std::filesystem::path folder) {
  const auto kept = std::make_shared<const std::string>(std::move(bytes));
  return of_bytes({kept, reinterpret_cast<const std::byte*>(kept->data())}, kept->size(), std::move(name),
                  std::move(folder));
}

OnnxModel OnnxModel::of_model(std::shared_ptr<const Model> model, std::string name) {
  OnnxModel made;
  made.model_ = std::move(model);
  made.name_ = std::move(name);
  return made;
}

std::vector<InputInfo> OnnxModel::inputs() const {
  return model_inputs(model_ != nullptr ? *model_ : read_model_unhashed(*this));
}

std::vector<InputInfo> OnnxModel::outputs() const {
  return model_outputs(model_ != nullptr ? *model_ : read_model_unhashed(*this));
}

std::string OnnxModel::bytes() const {
  if (model_ != nullptr) return whole_proto(*model_).SerializeAsString();
  return whole_proto(read_model(*this)).SerializeAsString();
}

void OnnxModel::write(const std::filesystem::path& path, const ExternalDataOptions& external_data) const {
  if (model_ != nullptr) {
    write_model(*model_, path, {external_data});
  } else {
    write_model(read_model(*this), path, {external_data});
  }
}

}  // namespace vernier
