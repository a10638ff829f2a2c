// One .npz: arrays by input name whose first axis counts the samples, or sample_<i> and sample_<i>/<input> members,
// whose shapes may differ. Compressed stacked arrays are unpacked from front to back, so samples are quickest in order.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "io/array_reader.h"
#include "io/fit.h"
#include "io/npz_names.h"
#include "io/zip_archive.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Member = ZipArchive::Member;

std::vector<std::string> names_of(const std::map<std::string, Member>& by_name) {
  std::vector<std::string> names;
  for (const auto& [name, member] : by_name) names.push_back(name);
  return names;
}

class StackedReader final : public ArrayReader {
 public:
  StackedReader(ZipArchive archive, const std::map<std::string, Member>& by_name, const OpenRequest& request)
      : archive_(std::move(archive)), where_(request.location.text) {
    std::string first;
    for (const InputInfo& input : request.inputs) {
      const auto member = by_name.find(input.name);
      if (member == by_name.end()) continue;  // carried: check_names() has seen to the others
      ZipArchive::Array array(archive_, member->second);
      Split split = split_samples(input, array.header().shape, request.options.split_batch, where_);
      if (!arrays_.empty() && split.samples != samples_) {
        throw Error(ErrorCode::SampleShape,
                    fmt::format("{}: the array for input '{}' holds {} samples, the one for '{}' holds {}", where_,
                                printable(first), samples_, printable(input.name), split.samples),
                    "stack the same number of samples for every input, also where they are all alike");
      }
      if (arrays_.empty()) first = input.name;
      samples_ = split.samples;
      arrays_.push_back({input.name, std::move(array), std::move(split.sample_shape)});
    }
  }

  std::size_t size() const override { return samples_; }

  FoundSample read(std::size_t index) const override {
    const std::lock_guard lock(mutex_);
    FoundSample found{{}, where_};
    for (Stacked& stacked : arrays_) {
      const NpyHeader& header = stacked.array.header();
      const std::size_t sample_bytes = header.data_bytes / samples_;
      Tensor tensor(header.dtype, stacked.sample_shape);
      stacked.array.read(index * sample_bytes, tensor.mutable_bytes());
      found.arrays.emplace(stacked.input, std::move(tensor));
    }
    return found;
  }

 private:
  struct Stacked {
    std::string input;
    ZipArchive::Array array;
    Shape sample_shape;
  };
  mutable std::mutex mutex_;  // libzip reads through one file position
  ZipArchive archive_;        // before arrays_, which point into it
  mutable std::vector<Stacked> arrays_;
  std::size_t samples_ = 1;
  std::string where_;
};

// Members that are one array of one sample each.
class MembersReader final : public ArrayReader {
 public:
  MembersReader(ZipArchive archive, std::vector<std::map<std::string, Member>> samples, const OpenRequest& request,
                std::string where)
      : archive_(std::move(archive)),
        samples_(std::move(samples)),
        inputs_(request.inputs),
        carried_(request.options.carried),
        spare_names_(request.options.spare_names),
        where_(std::move(where)) {}

  std::size_t size() const override { return samples_.size(); }

  FoundSample read(std::size_t index) const override {
    const std::lock_guard lock(mutex_);
    const std::map<std::string, Member>& members = samples_[index];
    check_names(inputs_, carried_, names_of(members), where_, spare_names_);
    FoundSample found{{}, where_};
    for (const InputInfo& input : inputs_) {
      const auto member = members.find(input.name);
      if (member == members.end()) continue;
      ZipArchive::Array array(archive_, member->second);
      check_shape(input, array.header().shape, index, where_);  // before memory is taken for it
      Tensor tensor(array.header().dtype, array.header().shape);
      array.read(0, tensor.mutable_bytes());
      found.arrays.emplace(input.name, std::move(tensor));
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  ZipArchive archive_;
  std::vector<std::map<std::string, Member>> samples_;
  std::vector<InputInfo> inputs_;
  std::vector<std::string> carried_;
  bool spare_names_;
  std::string where_;
};

// The samples of an archive whose members are all named sample_<i>[/<input>], in order of <i>; empty otherwise.
std::vector<std::map<std::string, Member>> numbered_samples(const std::map<std::string, Member>& by_name,
                                                            const OpenRequest& request) {
  std::map<std::uint64_t, std::map<std::string, Member>> numbered;
  for (const auto& [name, member] : by_name) {
    auto key = numbered_name(name, kSamplePrefix);
    if (!key) return {};
    if (key->second.empty()) key->second = only_input(request, "a .npz with sample_<i> arrays").name;
    if (!numbered[key->first].emplace(key->second, member).second) {
      throw Error(ErrorCode::SampleFile, fmt::format("{}: sample {} has two arrays for input '{}'",
                                                     request.location.text, key->first, printable(key->second)));
    }
  }
  std::vector<std::map<std::string, Member>> samples;
  for (auto& [number, sample] : numbered) samples.push_back(std::move(sample));
  return samples;
}

std::map<std::string, Member> members_by_name(const ZipArchive& archive, const std::string& where) {
  std::map<std::string, Member> by_name;
  for (const Member& member : archive.members()) {
    if (!by_name.emplace(array_name(member.name), member).second) {
      throw Error(ErrorCode::SampleFile, fmt::format("{}: two arrays are called '{}'", where, printable(member.name)));
    }
  }
  if (by_name.empty()) throw Error(ErrorCode::NoSamples, fmt::format("{}: holds no arrays", where));
  return by_name;
}

// numpy.savez(path, a) calls the array arr_0: no name, so it can only be the one input.
void name_the_unnamed(std::map<std::string, Member>& by_name, const OpenRequest& request) {
  const std::vector<InputInfo> fed = fed_inputs(request.options, request.inputs);
  if (by_name.size() != 1 || fed.size() != 1 || by_name.begin()->first != "arr_0") return;
  auto node = by_name.extract(by_name.begin());
  node.key() = fed.front().name;
  by_name.insert(std::move(node));
}

// A folder of .npz, one a sample, each opened when it is asked for.
class NpzFolderReader final : public ArrayReader {
 public:
  NpzFolderReader(std::vector<std::filesystem::path> files, const OpenRequest& request)
      : files_(std::move(files)), options_(request.options), inputs_(request.inputs), location_(request.location) {}

  std::size_t size() const override { return files_.size(); }

  FoundSample read(std::size_t index) const override {
    const std::string where = printable(files_[index].string());
    ZipArchive archive(files_[index], where);
    std::map<std::string, Member> by_name = members_by_name(archive, where);
    const OpenRequest request{options_, inputs_, location_};
    name_the_unnamed(by_name, request);
    return MembersReader(std::move(archive), {std::move(by_name)}, request, where).read(0);
  }

 private:
  std::vector<std::filesystem::path> files_;
  SourceOptions options_;
  std::vector<InputInfo> inputs_;
  Location location_;
};

constexpr std::string_view kNpz[] = {".npz"};

}  // namespace

bool is_npz(const Location& location) { return location.head.starts_with("PK"); }

std::unique_ptr<ArrayReader> open_npz(const OpenRequest& request) {
  const std::string& where = request.location.text;
  ZipArchive archive(request.location.path, where);
  std::map<std::string, Member> by_name = members_by_name(archive, where);
  std::vector<std::map<std::string, Member>> samples = numbered_samples(by_name, request);
  const bool by_input = std::any_of(request.inputs.begin(), request.inputs.end(),
                                    [&](const InputInfo& input) { return by_name.contains(input.name); });
  if (!samples.empty() && !by_input) {
    return std::make_unique<MembersReader>(std::move(archive), std::move(samples), request, where);
  }
  name_the_unnamed(by_name, request);
  check_names(request.inputs, request.options.carried, names_of(by_name), where, request.options.spare_names);
  return std::make_unique<StackedReader>(std::move(archive), by_name, request);
}

bool is_npz_folder(const Location& location) { return location.is_folder && !entries_with(location, kNpz).empty(); }

std::unique_ptr<ArrayReader> open_npz_folder(const OpenRequest& request) {
  return std::make_unique<NpzFolderReader>(entries_with(request.location, kNpz), request);
}

}  // namespace vernier
