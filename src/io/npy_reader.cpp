// One .npy for a network with one input, memory-mapped. A sample is copied out and its pages are given back: resident
// pages of the file would make memory grow with the samples read.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "base/mapped_file.h"
#include "io/array_reader.h"
#include "io/fit.h"
#include "io/npy.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class NpyReader final : public ArrayReader {
 public:
  NpyReader(std::string input, std::shared_ptr<const MappedFile> file, NpyHeader header, Split split, std::string where)
      : input_(std::move(input)),
        file_(std::move(file)),
        header_(std::move(header)),
        split_(std::move(split)),
        where_(std::move(where)) {}

  std::size_t size() const override { return split_.samples; }

  FoundSample read(std::size_t index) const override {
    const std::size_t sample_bytes = header_.data_bytes / split_.samples;
    const auto bytes = file_->bytes().subspan(header_.data_offset + index * sample_bytes, sample_bytes);
    Tensor sample(header_.dtype, split_.sample_shape);
    std::copy(bytes.begin(), bytes.end(), sample.mutable_bytes().begin());
    file_->forget(bytes);
    return {{{input_, std::move(sample)}}, where_};
  }

 private:
  std::string input_;
  std::shared_ptr<const MappedFile> file_;
  NpyHeader header_;
  Split split_;
  std::string where_;
};

}  // namespace

bool is_npy(const Location& location) { return location.head.starts_with("\x93NUMPY"); }

std::unique_ptr<ArrayReader> open_npy(const OpenRequest& request) {
  const std::string& where = request.location.text;
  const InputInfo input = only_input(request, "a .npy");
  const std::shared_ptr<const MappedFile> file = MappedFile::open(request.location.path);
  NpyHeader header = parse_whole_npy(file->bytes(), where);
  Split split = split_samples(input, header.shape, request.options.split_batch, where);
  return std::make_unique<NpyReader>(input.name, file, std::move(header), std::move(split), where);
}

}  // namespace vernier
