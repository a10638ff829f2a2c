// Saved inputs: one JSON file, or a folder of them in the order of their names, as --save-inputs writes both.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "data/array_reader.h"
#include "data/base64.h"
#include "data/mapped_file.h"
#include "data/npy.h"
#include "data/saved_inputs_index.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::string_view kJson[] = {".json"};

struct SavedSample {
  std::filesystem::path file;
  std::map<std::string, SavedArray> arrays;
};

// The quoted text at `range`, without quotes and escapes; empty when it is no such text any more.
std::string text_at(std::span<const std::byte> file, const SavedArray& range) {
  if (range.end > file.size()) return {};
  const auto* first = reinterpret_cast<const char*>(file.data());
  // Slashes may be escaped by other writers, though not by Python.
  const nlohmann::json text = nlohmann::json::parse(first + range.first, first + range.end, nullptr,
                                                    /*allow_exceptions=*/false);
  return text.is_string() ? text.get<std::string>() : std::string();
}

class SavedInputsReader final : public ArrayReader {
 public:
  explicit SavedInputsReader(std::vector<SavedSample> samples) : samples_(std::move(samples)) {}

  std::size_t size() const override { return samples_.size(); }

  FoundSample read(std::size_t index) const override {
    const SavedSample& sample = samples_[index];
    FoundSample found{{}, printable(sample.file.string())};
    // Opened anew each time: a folder may hold more files than can be kept mapped.
    const std::shared_ptr<const MappedFile> file = MappedFile::open(sample.file);
    for (const auto& [input, range] : sample.arrays) {
      const std::string where = fmt::format("{}: sample {}, input '{}'", found.where, index, printable(input));
      auto decoded = decode_base64(text_at(file->bytes(), range));
      if (!decoded || decoded->empty()) throw Error(ErrorKind::Input, fmt::format("{}: is not Base64", where));
      const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(*decoded));
      found.arrays.emplace(input, read_npy(*bytes, bytes, where));
    }
    return found;
  }

 private:
  std::vector<SavedSample> samples_;
};

}  // namespace

bool is_saved_inputs(const Location& location) {
  if (location.is_folder) return !entries_with(location, kJson).empty();
  const std::size_t first = location.head.find_first_not_of(" \t\r\n");
  return lower_extension(location.path) == ".json" ||
         (first != std::string::npos && (location.head[first] == '[' || location.head[first] == '{'));
}

std::unique_ptr<ArrayReader> open_saved_inputs(const OpenRequest& request) {
  const Location& location = request.location;
  const std::vector<std::filesystem::path> files =
      location.is_folder ? entries_with(location, kJson) : std::vector<std::filesystem::path>{location.path};
  std::vector<SavedSample> samples;
  for (const std::filesystem::path& path : files) {
    for (auto& arrays : index_saved_inputs(MappedFile::open(path)->bytes(), printable(path.string()))) {
      samples.push_back({path, std::move(arrays)});
    }
  }
  return std::make_unique<SavedInputsReader>(std::move(samples));
}

}  // namespace vernier
