// The network that a job is about: in a file, or in memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "vernier/export.h"
#include "vernier/external_data.h"
#include "vernier/samples.h"

namespace vernier {

struct Model;

/// An ONNX model. Jobs take one where they take a path, which becomes one without a word, and give one as their result.
/// A cheap handle: copies share what they hold, and nothing changes it. A file is read when a job asks for it, bytes
/// are parsed then: what is wrong with them is said by the job.
class VERNIER_API OnnxModel {
 public:
  /// None.
  OnnxModel() = default;
  OnnxModel(std::filesystem::path file) : file_(std::move(file)) {}  // NOLINT(google-explicit-constructor): as a path
  template <class Text>
  requires(std::is_convertible_v<const Text&, std::string_view> && !std::is_same_v<Text, std::filesystem::path>)
      OnnxModel(const Text& file)
      : file_(std::string_view(file)) {}  // NOLINT(google-explicit-constructor): as a path

  /// An ONNX message (ModelProto), which is not copied: the owner lives as long as any copy of this. `name` stands for
  /// the file in reports and messages. External data are looked for in `folder`; without one there may be none.
  static OnnxModel of_bytes(std::shared_ptr<const std::byte> bytes, std::size_t size, std::string name = "model",
                            std::filesystem::path folder = {});
  static OnnxModel of_bytes(std::string bytes, std::string name = "model", std::filesystem::path folder = {});

  bool empty() const { return file_.empty() && bytes_ == nullptr && model_ == nullptr; }
  bool in_memory() const { return bytes_ != nullptr || model_ != nullptr; }
  /// Empty where it is in memory.
  const std::filesystem::path& file() const { return file_; }
  /// The path, or the name it was given.
  std::string name() const { return in_memory() ? name_ : file_.string(); }

  /// What is fed, and what comes out. Errors: Input, as jobs that read it. Cost: reads all of it.
  std::vector<InputInfo> inputs() const;
  std::vector<InputInfo> outputs() const;

  /// One ONNX message, with all weights in it; of a file what is in it now.
  /// Errors: Input: as jobs that read it; 2 GB or more, which one message cannot hold.
  std::string bytes() const;
  /// Writes it to `path`, in one piece or not at all. Errors: Input when the disk refuses; Usage for a name of external
  /// data that cannot be, or that the model's own are read from.
  void write(const std::filesystem::path& path, const ExternalDataOptions& external_data = {}) const;

  /// Of the library: what was read, and back.
  static OnnxModel of_model(std::shared_ptr<const Model> model, std::string name);
  const std::shared_ptr<const Model>& model() const { return model_; }
  std::span<const std::byte> message() const { return {bytes_.get(), size_}; }
  const std::filesystem::path& folder() const { return folder_; }

  /// Of one file, or of the same bytes.
  friend bool operator==(const OnnxModel& a, const OnnxModel& b) {
    return a.file_ == b.file_ && a.bytes_ == b.bytes_ && a.model_ == b.model_;
  }

 private:
  std::filesystem::path file_;
  std::shared_ptr<const std::byte> bytes_;
  std::size_t size_ = 0;
  std::shared_ptr<const Model> model_;
  std::string name_;
  std::filesystem::path folder_;
};

}  // namespace vernier
