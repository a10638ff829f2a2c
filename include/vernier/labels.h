// What is right, by sample: labels of the user's, in a file or in memory.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "vernier/export.h"
#include "vernier/tensor.h"

namespace vernier {

/// One label a sample, in the order of the samples. Jobs take one where they take a path, which becomes one without a
/// word. A file is read when a job asks for it.
class VERNIER_API Labels {
 public:
  /// None.
  Labels() = default;
  Labels(std::filesystem::path file) : file_(std::move(file)) {}  // NOLINT(google-explicit-constructor): as a path
  template <class Text>
  requires(std::is_convertible_v<const Text&, std::string_view> && !std::is_same_v<Text, std::filesystem::path>)
      Labels(const Text& file)
      : file_(std::string_view(file)) {}  // NOLINT(google-explicit-constructor): as a path
  /// Whole numbers whose first axis counts the samples; `name` stands for them in reports and messages.
  static Labels of_values(Tensor values, std::string name = "labels in memory") {
    Labels labels;
    labels.values_ = std::move(values);
    labels.name_ = std::move(name);
    return labels;
  }

  /// COCO's annotations as JSON, of detection.
  static Labels of_annotations(std::string json, std::string name = "labels in memory") {
    Labels labels;
    labels.annotations_ = std::move(json);
    labels.name_ = std::move(name);
    return labels;
  }

  bool empty() const { return file_.empty() && !in_memory(); }
  bool in_memory() const { return values_.dtype() != Dtype::Undefined || !annotations_.empty(); }
  /// Empty where they are in memory.
  const std::filesystem::path& file() const { return file_; }
  /// Empty where they are in a file, or annotations.
  const Tensor& values() const { return values_; }
  const std::string& annotations() const { return annotations_; }
  /// The path, or the name they were given.
  std::string name() const { return in_memory() ? name_ : file_.string(); }

 private:
  std::filesystem::path file_;
  Tensor values_;
  std::string annotations_;
  std::string name_;
};

}  // namespace vernier
