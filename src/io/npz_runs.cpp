// Arrays of a .npz as one run: its names are outputs, or iteration_<i>/OUTPUT, or sample_<i>/INPUT. And a .npy, one
// array.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/refuse.h"
#include "base/text.h"
#include "io/npy.h"
#include "io/npz_names.h"
#include "io/saved_data.h"
#include "io/zip_archive.h"
#include "vernier/error_code.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

struct NamedMember {
  std::string name;
  ZipArchive::Member member;
};
using Iterations = std::vector<std::vector<NamedMember>>;

// Members called <prefix><i>/<name>, by their numbers; nullopt when not all are.
std::optional<Iterations> numbered(const std::vector<ZipArchive::Member>& members, std::string_view prefix) {
  std::map<std::uint64_t, std::vector<NamedMember>> by_number;
  for (const ZipArchive::Member& member : members) {
    auto name = numbered_name(array_name(member.name), prefix);
    if (!name) return std::nullopt;
    by_number[name->first].push_back({std::move(name->second), member});
  }
  Iterations iterations;
  for (auto& [number, arrays] : by_number) iterations.push_back(std::move(arrays));
  return iterations;
}

class NpzRun final : public Run {
 public:
  NpzRun(ZipArchive archive, std::string name, Iterations iterations, std::string where)
      : archive_(std::move(archive)),
        name_(std::move(name)),
        iterations_(std::move(iterations)),
        where_(std::move(where)) {
    for (const auto& iteration : iterations_) {
      std::set<std::string> seen;
      for (const NamedMember& array : iteration) {
        if (!seen.insert(array.name).second) {
          refuse(ErrorCode::SampleFile, where_,
                 fmt::format("two arrays are called '{}'", printable(array.member.name)));
        }
      }
    }
  }

  const std::string& name() const override { return name_; }
  std::size_t size() const override { return iterations_.size(); }
  Iteration at(std::size_t index) const override {
    const std::lock_guard lock(mutex_);
    Iteration made;
    for (const NamedMember& named : iterations_[index]) {
      ZipArchive::Array array(archive_, named.member);
      Tensor tensor(array.header().dtype, array.header().shape);
      array.read(0, tensor.mutable_bytes());
      made.outputs.push_back({named.name, std::move(tensor)});
    }
    return made;
  }

 private:
  mutable std::mutex mutex_;  // libzip reads through one file position
  ZipArchive archive_;
  std::string name_;
  Iterations iterations_;
  std::string where_;
};

class NpyRun final : public Run {
 public:
  NpyRun(std::string name, Tensor tensor) : name_(std::move(name)), tensor_(std::move(tensor)) {}
  const std::string& name() const override { return name_; }
  std::size_t size() const override { return 1; }
  Iteration at(std::size_t) const override { return {{{name_, tensor_}}, std::nullopt}; }

 private:
  std::string name_;
  Tensor tensor_;
};

}  // namespace

SavedData open_saved_npz(const fs::path& path) {
  const std::string where = printable(path.string());
  ZipArchive archive(path, where);
  const std::vector<ZipArchive::Member>& members = archive.members();
  if (members.empty()) refuse(ErrorCode::SampleFile, where, "holds no arrays");
  const auto is_pickle = [](const ZipArchive::Member& member) { return member.name.ends_with("/data.pkl"); };
  if (std::any_of(members.begin(), members.end(), is_pickle)) {
    refuse(ErrorCode::SampleFile, where, "is a PyTorch file, which only PyTorch can read",
           "save the tensors as arrays: numpy.savez('results.npz', **{name: tensor.numpy() for ...})");
  }
  SavedData data{SavedData::Kind::Arrays, true, {}};
  std::optional<Iterations> iterations = numbered(members, kIterationPrefix);
  if (iterations) {
    data.kind = SavedData::Kind::Results;
  } else if ((iterations = numbered(members, kSamplePrefix))) {
    data.kind = SavedData::Kind::Inputs;
  } else {
    iterations.emplace(1);
    for (const ZipArchive::Member& member : members) {
      iterations->front().push_back({array_name(member.name), member});
    }
  }
  data.runs.push_back(
      std::make_unique<NpzRun>(std::move(archive), path.stem().string(), *std::move(iterations), where));
  return data;
}

SavedData open_saved_npy(const fs::path& path) {
  const auto file = MappedFile::open(path);
  SavedData data{SavedData::Kind::OneArray, true, {}};
  data.runs.push_back(
      std::make_unique<NpyRun>(path.stem().string(), read_npy(file->bytes(), file, printable(path.string()))));
  return data;
}

}  // namespace vernier
