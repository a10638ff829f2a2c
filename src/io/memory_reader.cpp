// Samples that the caller of a job has in memory: a source of its own, or one array an input that stacks them.
#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "io/array_reader.h"
#include "io/fit.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class GivenReader final : public ArrayReader {
 public:
  explicit GivenReader(std::shared_ptr<const SampleSource> source)
      : source_(std::move(source)), where_(source_->description()) {}

  std::size_t size() const override { return source_->size(); }
  bool reads_images() const override { return source_->reads_images(); }
  std::vector<std::string> skipped_images() const override { return source_->skipped_images(); }
  std::string random_description() const override { return source_->is_random() ? where_ : ""; }
  FoundSample read(std::size_t index) const override { return {source_->at(index), where_}; }

 private:
  std::shared_ptr<const SampleSource> source_;
  std::string where_;
};

/// Sample `index` of an array that stacks them, without a copy where its elements stay aligned.
Tensor slice(const Tensor& stacked, const Split& split, std::size_t index) {
  const std::size_t bytes = stacked.byte_size() / split.samples;
  const auto keep = std::make_shared<const Tensor>(stacked);
  return {stacked.dtype(), split.sample_shape,
          std::shared_ptr<const std::byte>(keep, stacked.bytes().data() + index * bytes)};
}

class ArraysReader final : public ArrayReader {
 public:
  ArraysReader(const SourceOptions& options, const std::vector<InputInfo>& inputs) {
    std::vector<std::string> names;
    for (const auto& [name, array] : options.arrays) names.push_back(name);
    check_names(inputs, options.carried, names, kArraysInMemory, options.spare_names);
    std::string first;
    for (const InputInfo& input : inputs) {
      const auto array = options.arrays.find(input.name);
      if (array == options.arrays.end()) continue;  // carried
      Split split = split_samples(input, array->second.shape(), options.split_batch, kArraysInMemory);
      if (dtype_bits(array->second.dtype()) % 8 != 0) {
        throw Error(ErrorCode::SampleValues,
                    fmt::format("{}: elements of less than a byte, for input '{}', cannot be stacked", kArraysInMemory,
                                printable(input.name)));
      }
      if (!stacked_.empty() && split.samples != samples_) {
        throw Error(ErrorCode::SampleShape,
                    fmt::format("{}: the array for input '{}' holds {} samples, the one for '{}' holds {}",
                                kArraysInMemory, printable(first), samples_, printable(input.name), split.samples),
                    "stack the same number of samples for every input, also where they are all alike");
      }
      if (stacked_.empty()) first = input.name;
      samples_ = split.samples;
      stacked_.push_back({input.name, array->second, std::move(split)});
    }
  }

  std::size_t size() const override { return samples_; }

  FoundSample read(std::size_t index) const override {
    FoundSample found{{}, kArraysInMemory};
    for (const Stacked& stacked : stacked_) {
      found.arrays.emplace(stacked.input, slice(stacked.array, stacked.split, index));
    }
    return found;
  }

 private:
  struct Stacked {
    std::string input;
    Tensor array;
    Split split;
  };
  std::vector<Stacked> stacked_;
  std::size_t samples_ = 1;
};

class ListedSamples final : public SampleSource {
 public:
  ListedSamples(std::vector<Sample> samples, std::string name) : samples_(std::move(samples)), name_(std::move(name)) {}
  std::size_t size() const override { return samples_.size(); }
  Sample at(std::size_t index) const override { return samples_.at(index); }
  std::string description() const override { return name_; }

 private:
  std::vector<Sample> samples_;
  std::string name_;
};

class MadeSamples final : public SampleSource {
 public:
  MadeSamples(std::size_t count, std::function<Sample(std::size_t)> at, std::string name)
      : count_(count), at_(std::move(at)), name_(std::move(name)) {}
  std::size_t size() const override { return count_; }
  Sample at(std::size_t index) const override { return at_(index); }
  std::string description() const override { return name_; }

 private:
  std::size_t count_;
  std::function<Sample(std::size_t)> at_;
  std::string name_;
};

}  // namespace

std::unique_ptr<ArrayReader> open_given(std::shared_ptr<const SampleSource> source) {
  return std::make_unique<GivenReader>(std::move(source));
}

std::unique_ptr<ArrayReader> open_arrays(const SourceOptions& options, const std::vector<InputInfo>& inputs) {
  return std::make_unique<ArraysReader>(options, inputs);
}

std::shared_ptr<const SampleSource> samples_in_memory(std::vector<Sample> samples, std::string name) {
  return std::make_shared<ListedSamples>(std::move(samples), std::move(name));
}

std::shared_ptr<const SampleSource> samples_by(std::size_t count, std::function<Sample(std::size_t)> at,
                                               std::string name) {
  return std::make_shared<MadeSamples>(count, std::move(at), std::move(name));
}

}  // namespace vernier
