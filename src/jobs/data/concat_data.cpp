// `vernier data concat`: the iterations of several files, one after the other.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/runner_name.h"
#include "base/text.h"
#include "io/saved_data.h"
#include "vernier/data_files.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/runs.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

struct OpenFile {
  std::string text;  // for messages
  SavedData data;
};

// The runs of several files that are one run in the output.
struct Joined {
  std::string name;
  std::vector<std::pair<const OpenFile*, const Run*>> parts;
};

std::vector<OpenFile> open_files(const std::vector<std::filesystem::path>& paths) {
  std::vector<OpenFile> files;
  for (const std::filesystem::path& path : paths) {
    files.push_back({printable(path.string()), open_saved_data(path)});
    const OpenFile& file = files.back();
    const SavedData::Kind kind = file.data.kind;
    if (kind == SavedData::Kind::Arrays || kind == SavedData::Kind::OneArray) {
      throw Error(ErrorCode::Unlike,
                  fmt::format("{}: does not say whether its arrays are inputs or results", file.text),
                  "in a .npz, names like sample_0/NAME make them inputs, iteration_0/NAME results");
    }
    if (kind == files.front().data.kind) continue;
    const auto what = [](const OpenFile& each) {
      return each.data.kind == SavedData::Kind::Inputs ? "inputs" : "results";
    };
    throw Error(
        ErrorCode::Unlike,
        fmt::format("{}: holds {}, and {} holds {}", file.text, what(file), files.front().text, what(files.front())),
        "‹vernier data merge› makes inputs of results");
  }
  return files;
}

Joined* find_joined(std::vector<Joined>& joined, const OpenFile& file, const Run& run) {
  // A file may hold two runs of one name: each continues its own.
  const auto is_free = [&](const Joined& each) { return each.parts.empty() || each.parts.back().first != &file; };
  for (Joined& each : joined) {
    if (is_free(each) && each.name == run.name()) return &each;
  }
  for (Joined& each : joined) {
    if (is_free(each) && without_time(each.name) == without_time(run.name())) return &each;
  }
  if (file.data.named_after_file && joined.size() == 1) return &joined.front();
  return nullptr;
}

std::vector<Joined> join_runs(const std::vector<OpenFile>& files, const JobSinks& sinks) {
  std::vector<Joined> joined;
  for (const OpenFile& file : files) {
    for (const auto& run : file.data.runs) {
      Joined* found = find_joined(joined, file, *run);
      if (found == nullptr) {
        if (&file != &files.front()) {
          sinks.warn({"run-in-no-file-before", {{"file", file.text}, {"run", run->name()}}});
        }
        joined.push_back({run->name(), {}});
        found = &joined.back();
      }
      found->parts.emplace_back(&file, run.get());
    }
    for (const Joined& each : joined) {
      if (each.parts.back().first != &file) {
        sinks.warn({"run-missing", {{"file", file.text}, {"run", each.name}}});
      }
    }
  }
  return joined;
}

// Says once a run when arrays are not those of its first iteration.
class NameCheck {
 public:
  void see(const OpenFile& file, std::size_t index, const Iteration& iteration, const JobSinks& sinks) {
    std::vector<std::string> names;
    for (const NamedTensor& array : iteration.outputs) names.push_back(array.name);
    if (first_) {
      first_ = false;
      expected_ = std::move(names);
    } else if (!said_ && names != expected_) {
      said_ = true;
      sinks.warn(
          {"other-arrays", {{"file", file.text}, {"iteration", index}, {"arrays", names}, {"before", expected_}}});
    }
  }

 private:
  bool first_ = true;
  bool said_ = false;
  std::vector<std::string> expected_;
};

// Hands every iteration of every run to `take`, in order.
template <class Take>
std::size_t for_each_iteration(const std::vector<Joined>& joined, const JobSinks& sinks, const Take& take) {
  std::size_t total = 0;
  for (const Joined& each : joined) {
    for (const auto& [file, run] : each.parts) total += run->size();
  }
  std::size_t done = 0;
  for (std::size_t run = 0; run < joined.size(); ++run) {
    NameCheck names;
    for (const auto& [file, part] : joined[run].parts) {
      for (std::size_t i = 0; i < part->size(); ++i) {
        if (sinks.is_interrupted()) {
          throw Error(ErrorKind::Interrupted, "interrupted: nothing was written");
        }
        const Iteration iteration = part->at(i);
        names.see(*file, i, iteration, sinks);
        take(run, iteration);
        if (sinks.progress) sinks.progress("writing", ++done, total);
      }
    }
  }
  return total;
}

}  // namespace

JoinedData concat_data(const SavedFilesOptions& options, const JobSinks& sinks) {
  const std::vector<OpenFile> files = open_files(options.paths);
  const std::vector<Joined> joined = join_runs(files, sinks);
  if (files.front().data.kind == SavedData::Kind::Inputs) {
    InputWriter writer(options.output);
    const std::size_t count = for_each_iteration(
        joined, sinks, [&](std::size_t, const Iteration& iteration) { writer.add(iteration.outputs); });
    writer.finish();
    return {options.output, count, {}};
  }
  std::vector<std::string> names;
  for (const Joined& each : joined) names.push_back(each.name);
  RunWriter writer(options.output, names);
  const std::size_t count = for_each_iteration(
      joined, sinks, [&](std::size_t run, const Iteration& iteration) { writer.add(run, iteration); });
  writer.finish();
  return {options.output, count, std::move(names)};
}

}  // namespace vernier
