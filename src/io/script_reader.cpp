// A data loader script: file.py[:function], run once in the user's Python when the source is opened. What it yields
// goes to a scratch file, one sample at a time, so that memory grows with samples on neither side and samples can be
// read again in any order.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/scratch_file.h"
#include "base/text.h"
#include "io/array_reader.h"
#include "io/fit.h"
#include "io/npy.h"
#include "json/json.h"
#include "scripts/programs.h"
#include "scripts/script_location.h"
#include "scripts/script_process.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr const char* kMustYield = "it must yield, for each sample, a dict {input name: numpy array}";

struct KeptArray {
  std::string input;
  Dtype dtype = Dtype::Undefined;
  Shape shape;
  std::uint64_t offset = 0;
  std::size_t byte_size() const {
    return static_cast<std::size_t>(element_count(shape)) * static_cast<std::size_t>(dtype_bits(dtype) / 8);
  }
};

using KeptSample = std::vector<KeptArray>;

// What the loader program says, sample by sample (scripts/samples.py). A sample that does not fit is refused as soon as
// it is announced: the script may have hours to go.
class Announcements {
 public:
  Announcements(const OpenRequest& request, std::string where) : request_(request), where_(std::move(where)) {}

  void take(const Json& said) {
    if (const Json* const arrays = said.find("sample")) add(arrays->items());
  }
  std::vector<KeptSample>& samples() { return samples_; }
  std::string here() const { return fmt::format("{}: sample {}", where_, samples_.size()); }

 private:
  void add(const Json::Array& arrays) {
    KeptSample sample;
    std::vector<std::string> names;
    for (const Json& array : arrays) names.push_back(array.at(0).text());
    check_names(request_.inputs, request_.options.carried, names, here());
    for (const Json& array : arrays) {
      KeptArray kept{array.at(0).text(), Dtype::BFloat16, {}, array.at(3).integer<std::uint64_t>()};
      for (const Json& dim : array.at(2).items()) kept.shape.push_back(dim.integer<std::int64_t>());
      const auto input = std::find_if(request_.inputs.begin(), request_.inputs.end(),
                                      [&](const InputInfo& info) { return info.name == kept.input; });
      if (array.at(1).text() != "bfloat16") {
        kept.dtype = npy_dtype(array.at(1).text(), fmt::format("{}, input '{}'", here(), printable(kept.input)));
      }
      check_shape(*input, kept.shape, samples_.size(), where_);
      check_type(*input, kept.dtype, here());
      sample.push_back(std::move(kept));
    }
    samples_.push_back(std::move(sample));
  }

  const OpenRequest& request_;
  std::string where_;
  std::vector<KeptSample> samples_;
};

class ScriptReader final : public ArrayReader {
 public:
  ScriptReader(std::vector<KeptSample> samples, std::shared_ptr<const MappedFile> file, std::string where)
      : samples_(std::move(samples)), file_(std::move(file)), where_(std::move(where)) {}

  std::size_t size() const override { return samples_.size(); }

  FoundSample read(std::size_t index) const override {
    FoundSample found{{}, where_};
    for (const KeptArray& kept : samples_[index]) {
      Tensor tensor(kept.dtype, kept.shape);
      if (tensor.byte_size() > 0) {
        // Copied and given back: resident pages of the file would make memory grow with the samples read.
        const auto bytes = file_->bytes().subspan(kept.offset, tensor.byte_size());
        std::copy(bytes.begin(), bytes.end(), tensor.mutable_bytes().begin());
        file_->forget(bytes);
      }
      found.arrays.emplace(kept.input, std::move(tensor));
    }
    return found;
  }

 private:
  std::vector<KeptSample> samples_;
  std::shared_ptr<const MappedFile> file_;  // null when every array is empty
  std::string where_;
};

}  // namespace

std::unique_ptr<ArrayReader> open_script(const OpenRequest& request) {
  const ScriptLocation script = script_location(request.options.location).value();
  const std::string file = printable(script.file);
  const std::string where = fmt::format("{}:{}", file, printable(script.function));
  const ScratchFile scratch;
  Announcements announcements(request, where);
  std::vector<KeptSample>& samples = announcements.samples();
  ScriptProcess process(script, request.options);
  process.program = samples_program();
  process.arguments = {std::to_string(request.options.limit)};
  process.kind = "data loader scripts";
  process.announces = "samples";
  process.said = [&](const Json& said) { announcements.take(said); };
  process.place = [&] { return announcements.here(); };
  process.so_far = [&] { return plural(samples.size(), "sample"); };
  process.run(scratch);
  if (samples.empty()) throw Error(ErrorCode::Script, fmt::format("{}: yields no samples", where), kMustYield);

  std::uint64_t size = 0;
  for (const KeptSample& sample : samples) {
    for (const KeptArray& kept : sample) size = std::max(size, kept.offset + kept.byte_size());
  }
  std::shared_ptr<const MappedFile> mapped;
  if (size > 0) mapped = MappedFile::of(scratch.descriptor(), where);
  if (size > 0 && mapped->bytes().size() < size) {
    throw Error(ErrorCode::Script,
                fmt::format("{}: announced {} bytes of samples and gave {}", where, size, mapped->bytes().size()));
  }
  return std::make_unique<ScriptReader>(std::move(samples), std::move(mapped), where);
}

}  // namespace vernier
