// Saved inputs: one JSON file, or a folder of them in the order of their names, as --save-inputs writes both.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/text.h"
#include "io/array_reader.h"
#include "io/saved_array.h"
#include "io/saved_index.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::string_view kJson[] = {".json"};

// One file: a sample each when it comes from a folder, or all of them.
struct SavedInputsFile {
  std::filesystem::path path;
  SavedFile content;
};

class SavedInputsReader final : public ArrayReader {
 public:
  /// `wanted`: arrays of other names are not read; empty: all are.
  SavedInputsReader(std::vector<SavedInputsFile> files, std::set<std::string> wanted)
      : files_(std::move(files)), wanted_(std::move(wanted)) {
    for (std::size_t file = 0; file < files_.size(); ++file) {
      const std::size_t count = files_[file].content.runs.front().iterations.size();
      for (std::size_t i = 0; i < count; ++i) samples_.emplace_back(file, i);
    }
  }

  std::size_t size() const override { return samples_.size(); }

  FoundSample read(std::size_t index) const override {
    const auto& [file, at] = samples_[index];
    const SavedInputsFile& saved = files_[file];
    FoundSample found{{}, printable(saved.path.string())};
    // Opened anew each time: a folder may hold more files than can be kept mapped.
    const std::shared_ptr<const MappedFile> mapped = MappedFile::open(saved.path);
    for (const SavedArray& array : saved.content.runs.front().iterations[at].arrays) {
      const std::string& input = saved.content.names[array.name];
      if (!wanted_.empty() && !wanted_.contains(input)) continue;
      const std::string where = fmt::format("{}: sample {}, input '{}'", found.where, index, printable(input));
      found.arrays.emplace(input, read_saved_array(*mapped, array, where));
    }
    return found;
  }

 private:
  std::vector<SavedInputsFile> files_;
  std::set<std::string> wanted_;
  std::vector<std::pair<std::size_t, std::size_t>> samples_;  // file, and place in it
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
  std::vector<SavedInputsFile> saved;
  for (const std::filesystem::path& path : files) {
    saved.push_back(
        {path, index_saved_file(*MappedFile::open(path), printable(path.string()), SavedFile::Kind::Inputs)});
  }
  std::set<std::string> wanted;
  if (request.options.spare_names) {
    for (const InputInfo& input : request.inputs) wanted.insert(input.name);
  }
  return std::make_unique<SavedInputsReader>(std::move(saved), std::move(wanted));
}

}  // namespace vernier
