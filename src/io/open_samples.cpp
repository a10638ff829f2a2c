#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/near_files.h"
#include "base/text.h"
#include "io/array_reader.h"
#include "io/fit.h"
#include "scripts/script_location.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

struct Kind {
  std::string_view words;
  bool (*is_it)(const Location&);
  std::unique_ptr<ArrayReader> (*open)(const OpenRequest&);
};

// A new kind of input is one file and one line here.
constexpr std::array<Kind, 6> kKinds{{
    {".npy", is_npy, open_npy},
    {".npz", is_npz, open_npz},
    {"a folder of .npz", is_npz_folder, open_npz_folder},
    {"ONNX test data", is_onnx_test_data, open_onnx_test_data},
    {"saved inputs (JSON)", is_saved_inputs, open_saved_inputs},
    {"images", is_images, open_images},
}};

bool is_carried(const std::vector<std::string>& carried, const std::string& name) {
  return std::find(carried.begin(), carried.end(), name) != carried.end();
}

// Every reader behind the same checks.
class CheckedSource final : public SampleSource {
 public:
  CheckedSource(std::unique_ptr<ArrayReader> reader, const SourceOptions& options, std::vector<InputInfo> inputs,
                std::string name)
      : reader_(std::move(reader)),
        inputs_(std::move(inputs)),
        carried_(options.carried),
        shapes_(options.shapes),
        name_(std::move(name)),
        spare_names_(options.spare_names),
        size_(options.limit == 0 ? reader_->size() : std::min(options.limit, reader_->size())) {}

  std::size_t size() const override { return size_; }
  bool is_random() const override { return !reader_->random_description().empty(); }
  bool reads_images() const override { return reader_->reads_images(); }
  std::vector<std::string> skipped_images() const override { return reader_->skipped_images(); }

  std::string description() const override {
    const std::string& random = reader_->random_description();
    std::string text = fmt::format("{}, {} sample{}", random.empty() ? name_ : random, size_, size_ == 1 ? "" : "s");
    if (size_ < reader_->size()) text += fmt::format(" of {}", reader_->size());
    if (bytes_as_floats_) text += ", bytes taken as floats from 0 to 255";
    return text;
  }

  Sample at(std::size_t index) const override {
    if (index >= size_) {
      throw Error(ErrorKind::Internal, fmt::format("{}: sample {} of {} was asked for", name_, index, size_));
    }
    try {
      return checked(reader_->read(index), index);
    } catch (const std::bad_alloc&) {
      throw Error(ErrorCode::SampleFile, fmt::format("{}: sample {} does not fit into memory", name_, index));
    } catch (const fs::filesystem_error& error) {
      throw Error(ErrorCode::FileUnreadable, fmt::format("{}: cannot be read: {}", name_, error.code().message()));
    }
  }

 private:
  Sample checked(const FoundSample& found, std::size_t index) const {
    std::vector<std::string> names;
    for (const auto& [name, array] : found.arrays) names.push_back(name);
    check_names(inputs_, carried_, names, fmt::format("{}: sample {}", found.where, index), spare_names_);
    Sample sample;
    for (const InputInfo& input : inputs_) {
      const auto array = found.arrays.find(input.name);
      if (array != found.arrays.end() && array->second.dtype() == Dtype::UInt8 && input.dtype == Dtype::Float32) {
        bytes_as_floats_ = true;
      }
      sample.emplace(input.name,
                     array == found.arrays.end() ? zeros_for(input) : fit(array->second, input, index, found.where));
    }
    return sample;
  }

  // State at the start of a sequence. A dynamic dimension is 1 unless --input-shapes gives the shape.
  Tensor zeros_for(const InputInfo& input) const {
    Shape shape = input.shape;
    for (std::int64_t& dim : shape) dim = dim < 0 ? 1 : dim;
    if (const auto given = shapes_.find(input.name); given != shapes_.end()) {
      check_shape(input, given->second, 0, "‹input-shapes›");
      shape = given->second;
    }
    return {input.dtype, std::move(shape)};
  }

  std::unique_ptr<ArrayReader> reader_;
  std::vector<InputInfo> inputs_;
  std::vector<std::string> carried_;
  std::map<std::string, Shape> shapes_;
  std::string name_;
  bool spare_names_;
  std::size_t size_;
  mutable std::atomic<bool> bytes_as_floats_ = false;  // of samples that were read: right for few networks
};

std::string first_bytes(const fs::path& path) {
  std::array<char, 16> head{};
  std::ifstream file = open_input(path);
  file.read(head.data(), head.size());
  return {head.data(), static_cast<std::size_t>(file.gcount())};
}

Location look_at(const std::string& text) {
  Location location;
  location.path = text;
  location.text = printable(text);
  std::error_code error;
  const fs::file_status status = fs::status(location.path, error);
  if (!fs::exists(status)) {
    throw Error(ErrorCode::FileMissing, fmt::format("{}: no such file or folder", location.text),
                near_files(location.path));
  }
  location.is_folder = fs::is_directory(status);
  if (location.is_folder) {
    for (const fs::directory_entry& entry : fs::directory_iterator(location.path))
      location.entries.push_back(entry.path());
    std::sort(location.entries.begin(), location.entries.end(),
              [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
    if (location.entries.empty())
      throw Error(ErrorCode::NoSamples, fmt::format("{}: the folder is empty", location.text));
  } else if (fs::is_regular_file(status)) {
    location.head = first_bytes(location.path);
    if (location.head.empty()) {
      throw Error(ErrorCode::NoSamples, fmt::format("{}: is empty or cannot be read", location.text));
    }
  } else {
    throw Error(ErrorCode::FileUnreadable, fmt::format("{}: is neither a file nor a folder", location.text));
  }
  return location;
}

constexpr std::string_view kKnown =
    "known: .npy, .npz, a folder of .npz, images or a folder of them, saved inputs (JSON), ONNX test data "
    "(test_data_set_<k>/input_<i>.pb), a data loader script (file.py[:function])";

const Kind& kind_of(const Location& location) {
  std::vector<const Kind*> found;
  for (const Kind& kind : kKinds) {
    if (kind.is_it(location)) found.push_back(&kind);
  }
  if (found.empty()) {
    if (location.head.starts_with('\x80')) {
      throw Error(ErrorCode::SampleFile,
                  fmt::format("{}: is a Python pickle, which is not read: it can run any code", location.text),
                  "save the arrays with numpy.savez");
    }
    throw Error(ErrorCode::SampleFile, fmt::format("{}: holds no inputs of a known kind", location.text),
                std::string(kKnown));
  }
  // A file is what its first bytes say; a folder that could be read two ways is not guessed at.
  if (location.is_folder && found.size() > 1) {
    throw Error(ErrorCode::SampleFile,
                fmt::format("{}: holds both {} and {}", location.text, found[0]->words, found[1]->words),
                "put one kind of input in a folder");
  }
  return *found.front();
}

std::unique_ptr<ArrayReader> open_script_at(const ScriptLocation& script, const SourceOptions& options,
                                            const std::vector<InputInfo>& inputs) {
  const Location location = look_at(script.file);
  if (location.is_folder)
    throw Error(ErrorCode::FileUnreadable, fmt::format("{}: is a folder, not a script", location.text));
  return open_script({options, inputs, location});
}

std::unique_ptr<ArrayReader> open_reader(const SourceOptions& options, const std::vector<InputInfo>& inputs) {
  if (options.source != nullptr) return open_given(options.source);
  if (!options.arrays.empty()) return open_arrays(options, inputs);
  if (options.location.empty()) return open_random(options, inputs);
  if (const auto script = script_location(options.location)) return open_script_at(*script, options, inputs);
  try {
    const Location location = look_at(options.location);
    return kind_of(location).open({options, inputs, location});
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::FileUnreadable,
                fmt::format("{}: cannot be read: {}", printable(options.location), error.code().message()));
  }
}

/// What messages and reports call the samples.
std::string name_of(const SourceOptions& options) {
  if (options.source != nullptr) return options.source->description();
  if (!options.arrays.empty()) return kArraysInMemory;
  return options.location.empty() ? "the random inputs" : printable(options.location);
}

struct FirstLook {
  std::unique_ptr<SampleSource> source;
  bool full = false;  // every input has values in the first sample
};

FirstLook open_one(const SourceOptions& options, const std::vector<InputInfo>& inputs) {
  auto source = std::make_unique<CheckedSource>(open_reader(options, inputs), options, inputs, name_of(options));
  if (source->size() == 0) throw Error(ErrorCode::NoSamples, fmt::format("{}: holds no samples", name_of(options)));
  // A wrong file should fail here, before models are loaded and minutes are spent.
  const Sample first = source->at(0);
  const bool full = std::ranges::all_of(first, [](const auto& value) { return value.second.count() > 0; });
  return {std::move(source), full};
}

// Several sources one behind the other. Each keeps its own checks, so that messages name the file and count its
// samples.
class ChainedSource final : public SampleSource {
 public:
  ChainedSource(std::vector<std::unique_ptr<SampleSource>> parts, std::string name)
      : parts_(std::move(parts)), name_(std::move(name)) {
    for (const auto& part : parts_) ends_.push_back(size() + part->size());
  }

  std::size_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  std::string description() const override { return fmt::format("{}, {}", name_, plural(size(), "sample")); }
  bool reads_images() const override {
    return std::ranges::any_of(parts_, [](const auto& part) { return part->reads_images(); });
  }
  std::vector<std::string> skipped_images() const override {
    std::vector<std::string> skipped;
    for (const auto& part : parts_) {
      for (std::string& file : part->skipped_images()) skipped.push_back(std::move(file));
    }
    return skipped;
  }

  Sample at(std::size_t index) const override {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
    if (end == ends_.end()) {
      throw Error(ErrorKind::Internal, fmt::format("{}: sample {} of {} was asked for", name_, index, size()));
    }
    const auto part = static_cast<std::size_t>(end - ends_.begin());
    return parts_[part]->at(index - (part == 0 ? 0 : ends_[part - 1]));
  }

 private:
  std::vector<std::unique_ptr<SampleSource>> parts_;
  std::vector<std::size_t> ends_;  // of each part, in samples
  std::string name_;
};

/// An input may have no row, such as the boxes of an image or the steps of a cache. Data without a value in any sample
/// say nothing of a network: whatever it computes is exact. Reads samples until one has a value.
void require_values(const SampleSource& source, const SourceOptions& options, const std::vector<InputInfo>& inputs) {
  if (source.is_random()) return;  // sizes of 0 were asked for
  const std::vector<InputInfo> fed = fed_inputs(options, inputs);
  std::vector<std::string> wanted;
  for (const InputInfo& input : fed) {
    if (std::ranges::find(input.shape, 0) == input.shape.end()) wanted.push_back(input.name);
  }
  if (wanted.empty()) return;
  for (std::size_t index = 0; index < source.size(); ++index) {
    const Sample sample = source.at(index);
    if (std::ranges::any_of(wanted, [&](const std::string& name) { return sample.at(name).count() > 0; })) return;
  }
  throw Error(ErrorCode::NoSamples,
              fmt::format("{}: no sample has a value: the array for input '{}' has shape {}", name_of(options),
                          printable(wanted.front()), shape_text(source.at(0).at(wanted.front()).shape())),
              "check what wrote it: a filter may have removed every row");
}

}  // namespace

std::vector<InputInfo> fed_inputs(const SourceOptions& options, const std::vector<InputInfo>& inputs) {
  std::vector<InputInfo> fed;
  for (const InputInfo& input : inputs) {
    if (!is_carried(options.carried, input.name)) fed.push_back(input);
  }
  return fed;
}

InputInfo only_input(const OpenRequest& request, const std::string& kind) {
  std::vector<InputInfo> fed = fed_inputs(request.options, request.inputs);
  if (fed.size() == 1) return std::move(fed.front());
  std::vector<std::string> names;
  for (const InputInfo& input : fed) names.push_back(input.name);
  throw Error(ErrorCode::SampleNames,
              fmt::format("{}: {} feeds one input, the network has {}{}{}", request.location.text, kind, fed.size(),
                          fed.empty() ? "" : ": ", list_some(names)),
              "give a .npz with one array for each input, under its name");
}

std::string lower_extension(const fs::path& path) { return lower_case(path.extension().string()); }

std::vector<fs::path> entries_with(const Location& location, std::span<const std::string_view> extensions) {
  std::vector<fs::path> found;
  for (const fs::path& path : location.entries) {
    if (std::find(extensions.begin(), extensions.end(), lower_extension(path)) != extensions.end())
      found.push_back(path);
  }
  return found;
}

std::unique_ptr<SampleSource> open_samples(const SourceOptions& options, const std::vector<InputInfo>& inputs) {
  if (options.further.empty() || options.source != nullptr || !options.arrays.empty()) {
    FirstLook opened = open_one(options, inputs);
    if (!opened.full) require_values(*opened.source, options, inputs);
    return std::move(opened.source);
  }
  std::vector<std::unique_ptr<SampleSource>> parts;
  std::vector<std::string> names{printable(options.location)};
  SourceOptions part = options;
  part.further.clear();
  bool full = false;
  const auto add = [&] {
    FirstLook opened = open_one(part, inputs);
    full = full || opened.full;
    parts.push_back(std::move(opened.source));
  };
  add();
  std::size_t samples = parts.back()->size();
  for (const std::string& location : options.further) {
    names.push_back(printable(location));
    if (options.limit != 0 && samples == options.limit) continue;
    part.location = location;
    part.limit = options.limit == 0 ? 0 : options.limit - samples;
    add();
    samples += parts.back()->size();
  }
  auto chained = std::make_unique<ChainedSource>(std::move(parts), list_some(names));
  if (!full) require_values(*chained, options, inputs);
  return chained;
}

}  // namespace vernier
