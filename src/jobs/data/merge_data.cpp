// `vernier data merge`: the arrays of several files, iteration by iteration, as one file of inputs.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "io/saved_data.h"
#include "jobs/common/output_files.h"
#include "vernier/data_files.h"
#include "vernier/error.h"
#include "vernier/runs.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

// One run of one file.
struct Source {
  std::string text;  // for messages
  std::unique_ptr<Run> run;
};

std::vector<Source> open_sources(const std::vector<std::filesystem::path>& paths) {
  std::vector<Source> sources;
  for (const std::filesystem::path& path : paths) {
    SavedData data = open_saved_data(path);
    const bool several = data.runs.size() > 1;
    for (std::unique_ptr<Run>& run : data.runs) {
      const std::string file = printable(path.string());
      std::string text = several ? fmt::format("{}, run '{}'", file, printable(run->name())) : file;
      sources.push_back({std::move(text), std::move(run)});
    }
  }
  return sources;
}

class Merger {
 public:
  Merger(std::vector<Source> sources, const JobSinks& sinks) : sources_(std::move(sources)), sinks_(sinks) {
    for (const Source& source : sources_) samples_ = std::max(samples_, source.run->size());
    for (const Source& source : sources_) {
      if (source.run->size() == samples_) continue;
      warn({"fewer-iterations", {{"file", source.text}, {"iterations", source.run->size()}, {"others", samples_}}});
    }
  }

  std::size_t samples() const { return samples_; }

  std::vector<NamedTensor> sample(std::size_t index) {
    std::vector<NamedTensor> merged;
    for (const Source& source : sources_) {
      if (index >= source.run->size()) continue;
      for (NamedTensor& array : source.run->at(index).outputs) put(std::move(array), source, merged);
    }
    return merged;
  }

 private:
  void put(NamedTensor array, const Source& source, std::vector<NamedTensor>& merged) {
    const auto same =
        std::find_if(merged.begin(), merged.end(), [&](const NamedTensor& other) { return other.name == array.name; });
    if (same == merged.end()) {
      merged.push_back(std::move(array));
      return;
    }
    if (replaced_.insert({source.text, array.name}).second) {
      warn({"array-replaced", {{"file", source.text}, {"array", array.name}}});
    }
    same->tensor = std::move(array.tensor);
  }

  void warn(const Note& note) const { sinks_.warn(note); }

  std::vector<Source> sources_;
  const JobSinks& sinks_;
  std::size_t samples_ = 0;
  std::set<std::pair<std::string, std::string>> replaced_;
};

}  // namespace

JoinedData merge_data(const SavedFilesOptions& options, const JobSinks& sinks) {
  refuse_to_overwrite(options.output, options.paths);
  Merger merger(open_sources(options.paths), sinks);
  InputWriter writer(options.output);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < merger.samples(); ++i) {
    if (sinks.is_interrupted()) {
      throw Error(ErrorKind::Interrupted, "interrupted: nothing was written");
    }
    const std::vector<NamedTensor> sample = merger.sample(i);
    writer.add(sample);
    if (i == 0) {
      for (const NamedTensor& input : sample) names.push_back(input.name);
    }
    if (sinks.progress) sinks.progress("writing", i + 1, merger.samples());
  }
  writer.finish();
  return {options.output, merger.samples(), std::move(names)};
}

}  // namespace vernier
