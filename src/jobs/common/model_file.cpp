#include "jobs/common/model_file.h"

#include <memory>
#include <string>
#include <utility>

namespace vernier {

OnnxModel given_model(Model model, const std::filesystem::path& output, const ExternalDataOptions& external_data) {
  if (output.empty()) {
    const std::string name = model.path.filename().string();
    return OnnxModel::of_model(std::make_shared<const Model>(std::move(model)), name);
  }
  write_model(model, output, {.external_data = external_data});
  return output;
}

}  // namespace vernier
