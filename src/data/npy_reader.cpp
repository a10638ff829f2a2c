// One .npy for a network with one input, memory-mapped: a sample is a view into the file.
#include <fmt/format.h>

#include "data/array_reader.h"
#include "data/fit.h"
#include "data/mapped_file.h"
#include "data/npy.h"

namespace vernier {
namespace {

class NpyReader final : public ArrayReader {
 public:
  NpyReader(std::string input, std::shared_ptr<const MappedFile> file, Tensor array, Split split, std::string where)
      : input_(std::move(input)),
        file_(std::move(file)),
        array_(std::move(array)),
        split_(std::move(split)),
        where_(std::move(where)) {}

  std::size_t size() const override { return split_.samples; }

  FoundSample read(std::size_t index) const override {
    const std::size_t sample_bytes = array_.byte_size() / split_.samples;
    // Shares the map, so that a sample may outlive this reader.
    const std::shared_ptr<const std::byte> first(file_, array_.bytes().data() + index * sample_bytes);
    return {{{input_, Tensor(array_.dtype(), split_.sample_shape, first)}}, where_};
  }

 private:
  std::string input_;
  std::shared_ptr<const MappedFile> file_;
  Tensor array_;
  Split split_;
  std::string where_;
};

}  // namespace

bool is_npy(const Location& location) { return location.head.starts_with("\x93NUMPY"); }

std::unique_ptr<ArrayReader> open_npy(const OpenRequest& request) {
  const std::string& where = request.location.text;
  const InputInfo input = only_input(request, "a .npy");
  const std::shared_ptr<const MappedFile> file = MappedFile::open(request.location.path);
  Tensor array = read_npy(file->bytes(), file, where);
  Split split = split_samples(input, array.shape(), request.options.split_batch, where);
  return std::make_unique<NpyReader>(input.name, file, std::move(array), std::move(split), where);
}

}  // namespace vernier
