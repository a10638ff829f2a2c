// One .npy for a network with one input. A sample is read from where it lies: resident pages of a map would make memory
// grow with the samples read, and giving them back costs more than a small network takes.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/mapped_file.h"
#include "base/refuse.h"
#include "io/array_reader.h"
#include "io/fit.h"
#include "io/npy.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class NpyReader final : public ArrayReader {
 public:
  NpyReader(std::string input, Descriptor file, NpyHeader header, Split split, std::string where)
      : input_(std::move(input)),
        file_(std::move(file)),
        header_(std::move(header)),
        split_(std::move(split)),
        where_(std::move(where)) {}

  std::size_t size() const override { return split_.samples; }

  FoundSample read(std::size_t index) const override {
    Tensor sample(header_.dtype, split_.sample_shape);
    std::size_t from = header_.data_offset + index * (header_.data_bytes / split_.samples);
    for (std::span<std::byte> rest = sample.mutable_bytes(); !rest.empty();) {
      const ::ssize_t got = ::pread(file_.get(), rest.data(), rest.size(), static_cast<::off_t>(from));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(ErrorCode::SampleFile, where_, fmt::format("cannot be read: {}", std::strerror(errno)));
      if (got == 0)
        refuse(ErrorCode::SampleFile, where_, fmt::format("ends within sample {}: it has become shorter", index));
      from += static_cast<std::size_t>(got);
      rest = rest.subspan(static_cast<std::size_t>(got));
    }
    return {{{input_, std::move(sample)}}, where_};
  }

 private:
  std::string input_;
  Descriptor file_;
  NpyHeader header_;
  Split split_;
  std::string where_;
};

}  // namespace

bool is_npy(const Location& location) { return location.head.starts_with("\x93NUMPY"); }

std::unique_ptr<ArrayReader> open_npy(const OpenRequest& request) {
  const std::string& where = request.location.text;
  const InputInfo input = only_input(request, "a .npy");
  // Not a pipe: it was seen to be a regular file.
  Descriptor file(::open(request.location.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.empty()) refuse(ErrorCode::SampleFile, where, fmt::format("cannot be read: {}", std::strerror(errno)));
  NpyHeader header = parse_whole_npy(MappedFile::of(file.get(), request.location.path)->bytes(), where);
  Split split = split_samples(input, header.shape, request.options.split_batch, where);
  return std::make_unique<NpyReader>(input.name, std::move(file), std::move(header), std::move(split), where);
}

}  // namespace vernier
