// ONNX test data: folders test_data_set_<k>, one a sample, with input_<i>.pb for graph input number i; or one such
// folder.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/mapped_file.h"
#include "base/text.h"
#include "io/array_reader.h"
#include "io/tensor_proto.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// The number in "<prefix><number><suffix>".
std::optional<std::uint64_t> number_in(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix)) {
    return std::nullopt;
  }
  name = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// Entries of `paths` so named, by their number: 2 before 10.
std::map<std::uint64_t, fs::path> numbered(const std::vector<fs::path>& paths, std::string_view prefix,
                                           std::string_view suffix) {
  std::map<std::uint64_t, fs::path> found;
  for (const fs::path& path : paths) {
    if (const auto number = number_in(path.filename().string(), prefix, suffix)) found.emplace(*number, path);
  }
  return found;
}

std::map<std::uint64_t, fs::path> inputs_in(const std::vector<fs::path>& paths) {
  return numbered(paths, "input_", ".pb");
}

std::map<std::uint64_t, fs::path> data_sets_in(const Location& location) {
  return numbered(location.entries, "test_data_set_", "");
}

class OnnxTestDataReader final : public ArrayReader {
 public:
  OnnxTestDataReader(std::vector<fs::path> sets, const OpenRequest& request)
      : sets_(std::move(sets)), inputs_(request.inputs) {}

  std::size_t size() const override { return sets_.size(); }

  FoundSample read(std::size_t index) const override {
    FoundSample found{{}, printable(sets_[index].string())};
    const std::vector<fs::path> entries{fs::directory_iterator(sets_[index]), fs::directory_iterator()};
    for (const auto& [number, path] : inputs_in(entries)) {
      const std::string where = printable(path.string());
      NamedTensor array = read_tensor_proto(MappedFile::open(path)->bytes(), where);
      const std::string& input = input_for(array.name, number, where);
      if (!found.arrays.emplace(input, std::move(array.tensor)).second) {
        throw Error(ErrorCode::SampleNames,
                    fmt::format("{}: is a second array for input '{}'", where, printable(input)));
      }
    }
    return found;
  }

 private:
  // Many writers leave the name empty or keep one of another export; the number is the rule of the format.
  const std::string& input_for(const std::string& name, std::uint64_t number, const std::string& where) const {
    for (const InputInfo& input : inputs_) {
      if (input.name == name) return input.name;
    }
    if (number >= inputs_.size()) {
      throw Error(ErrorCode::SampleNames,
                  fmt::format("{}: is for input number {}, the network has {}", where, number, inputs_.size()));
    }
    return inputs_[number].name;
  }

  std::vector<fs::path> sets_;
  std::vector<InputInfo> inputs_;
};

}  // namespace

bool is_onnx_test_data(const Location& location) {
  return location.is_folder && (!inputs_in(location.entries).empty() || !data_sets_in(location).empty());
}

std::unique_ptr<ArrayReader> open_onnx_test_data(const OpenRequest& request) {
  const Location& location = request.location;
  std::vector<fs::path> sets;
  if (!inputs_in(location.entries).empty()) {
    sets.push_back(location.path);
  } else {
    for (const auto& [number, path] : data_sets_in(location)) sets.push_back(path);
  }
  return std::make_unique<OnnxTestDataReader>(std::move(sets), request);
}

}  // namespace vernier
