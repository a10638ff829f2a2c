// Saved inputs and results as JSON: one file, or a folder of them whose files follow each other.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/refuse.h"
#include "base/text.h"
#include "io/saved_array.h"
#include "io/saved_data.h"
#include "io/saved_index.h"
#include "vernier/error_code.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) { return printable(path.string()); }

SavedData::Kind kind_of(const SavedFile& file) {
  return file.kind == SavedFile::Kind::Results ? SavedData::Kind::Results : SavedData::Kind::Inputs;
}

Iteration read_iteration(const MappedFile& mapped, const SavedFile& file, const SavedRun& run, std::size_t index,
                         const fs::path& path) {
  const SavedIteration& saved = run.iterations[index];
  const bool results = file.kind == SavedFile::Kind::Results;
  const std::string place = results ? fmt::format("run '{}', iteration {}, output", printable(run.name), index)
                                    : fmt::format("sample {}, input", index);
  Iteration made;
  made.seconds = saved.seconds;
  for (const SavedArray& array : saved.arrays) {
    const std::string& name = file.names[array.name];
    const std::string where = fmt::format("{}: {} '{}'", text_of(path), place, printable(name));
    made.outputs.push_back({name, read_saved_array(mapped, array, where)});
    // The text is not needed again soon; a large file would otherwise fill the memory that is counted as ours.
    mapped.forget(mapped.bytes().subspan(array.first, array.end - array.first));
  }
  return made;
}

// A file with all its positions, shared by its runs.
struct IndexedFile {
  fs::path path;
  std::shared_ptr<const MappedFile> mapped;
  SavedFile content;
};

class FileRun final : public Run {
 public:
  FileRun(std::shared_ptr<const IndexedFile> file, std::size_t run)
      : file_(std::move(file)), run_(file_->content.runs[run]) {}
  const std::string& name() const override { return run_.name; }
  std::size_t size() const override { return run_.iterations.size(); }
  Iteration at(std::size_t index) const override {
    return read_iteration(*file_->mapped, file_->content, run_, index, file_->path);
  }

 private:
  std::shared_ptr<const IndexedFile> file_;
  const SavedRun& run_;
};

// Positions are not kept: a folder may hold millions of iterations. Each file is looked through again when it is read.
class FolderRun final : public Run {
 public:
  struct Place {
    std::size_t file, run, iteration;
  };
  using Files = std::shared_ptr<const std::vector<fs::path>>;

  FolderRun(Files files, std::string name, std::vector<Place> places)
      : files_(std::move(files)), name_(std::move(name)), places_(std::move(places)) {}
  const std::string& name() const override { return name_; }
  std::size_t size() const override { return places_.size(); }
  Iteration at(std::size_t index) const override {
    const Place& place = places_[index];
    const fs::path& path = (*files_)[place.file];
    const auto mapped = MappedFile::open(path);
    const SavedFile content = index_saved_file(*mapped, text_of(path));
    if (place.run >= content.runs.size() || content.runs[place.run].name != name_ ||
        place.iteration >= content.runs[place.run].iterations.size()) {
      refuse(ErrorCode::SampleFile, path, "has changed since it was opened");
    }
    return read_iteration(*mapped, content, content.runs[place.run], place.iteration, path);
  }

 private:
  Files files_;
  std::string name_;
  std::vector<Place> places_;
};

std::vector<fs::path> json_files(const fs::path& folder) {
  std::vector<fs::path> files;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".json") && name[0] != '.') files.push_back(entry.path());
    }
  } catch (const fs::filesystem_error& error) {
    refuse(ErrorCode::SampleFile, folder, fmt::format("cannot be read: {}", error.code().message()));
  }
  if (files.empty())
    refuse(ErrorCode::SampleFile, folder, "is a folder without .json files",
           "a folder of saved data holds 0000000000.json and on");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

SavedData open_saved_json(const fs::path& path) {
  auto file = std::make_shared<IndexedFile>();
  file->path = path;
  file->mapped = MappedFile::open(path);
  file->content = index_saved_file(*file->mapped, text_of(path));
  file->mapped->forget(file->mapped->bytes());
  SavedData data{kind_of(file->content), false, {}};
  for (std::size_t run = 0; run < file->content.runs.size(); ++run) {
    data.runs.push_back(std::make_unique<FileRun>(file, run));
  }
  return data;
}

SavedData open_saved_folder(const fs::path& folder) {
  const auto files = std::make_shared<const std::vector<fs::path>>(json_files(folder));
  SavedData data;
  // Runs go by name: one that ended early is missing in the last files.
  std::vector<std::string> names;
  std::map<std::string, std::vector<FolderRun::Place>> places;
  for (std::size_t file = 0; file < files->size(); ++file) {
    const fs::path& path = (*files)[file];
    const SavedFile content = index_saved_file(*MappedFile::open(path), text_of(path));
    if (file == 0) data.kind = kind_of(content);
    if (kind_of(content) != data.kind) {
      refuse(
          ErrorCode::SampleFile, path,
          fmt::format("is not of the same kind as {}: one holds results, the other inputs", text_of(files->front())));
    }
    for (std::size_t run = 0; run < content.runs.size(); ++run) {
      const auto [known, is_new] = places.try_emplace(content.runs[run].name);
      if (is_new) names.push_back(known->first);
      for (std::size_t i = 0; i < content.runs[run].iterations.size(); ++i) known->second.push_back({file, run, i});
    }
  }
  for (std::string& name : names) {
    std::vector<FolderRun::Place> mine = std::move(places.at(name));
    data.runs.push_back(std::make_unique<FolderRun>(files, std::move(name), std::move(mine)));
  }
  return data;
}

}  // namespace vernier
