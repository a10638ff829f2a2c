// Values of tensors that a model keeps in files beside it.
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/mapped_file.h"
#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// External data of one model: each file mapped once, none outside its folder.
class ExternalData {
 public:
  /// nullopt: there may be none. `ignored`: no file is opened, and the tensors in them have no values.
  explicit ExternalData(std::optional<std::filesystem::path> folder, bool ignored = false)
      : folder_(std::move(folder)), ignored_(ignored) {}
  /// Files may also lie in the folder that the link `model` leads to, as in the cache of Hugging Face's hub.
  ExternalData(std::filesystem::path folder, const std::filesystem::path& model);

  bool ignored() const { return ignored_; }

  /// Errors: Input: the file is missing, damaged or too small, or lies outside the folder.
  Tensor read(const onnx::TensorProto& proto);

  /// Those that were read.
  std::vector<std::filesystem::path> files() const;

  /// Hashes of the files that were read, so that the model's identity covers its weights.
  void add_to(Sha256& hash, const Progress& progress) const;

 private:
  /// onnx.proto: "checksum" is the SHA1 digest of the whole file. What is no such digest is not compared.
  void compare_checksum(const onnx::TensorProto& proto, const std::string& location, const MappedFile& file,
                        std::string wanted);
  const std::shared_ptr<const MappedFile>& open(const onnx::TensorProto& proto, const std::string& location);

  std::optional<std::filesystem::path> folder_;
  std::filesystem::path behind_link_;  // empty: the model is no link
  bool ignored_ = false;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
  std::map<std::string, std::string> sha1_;  // of those whose checksum some tensor names
};

}  // namespace vernier
