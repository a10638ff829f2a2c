#include "analysis/output_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "base/refuse.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

[[noreturn]] void refuse(const char* what) {
  if (lacks_descriptors(errno)) refuse_for_errno("temporary file", "cannot be made", errno);
  throw Error(ErrorCode::FileUnwritable,
              fmt::format("cannot {} a temporary file for reference outputs: {}", what, std::strerror(errno)),
              "set TMPDIR to a folder with free space");
}

}  // namespace

OutputStore::OutputStore() {
  std::error_code failure;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(failure);
  if (!failure) {
    std::string name = (folder / "vernier-XXXXXX").string();
    descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ >= 0) ::unlink(name.c_str());
  }
  // Where nothing can be written, as in some containers: memory, which then grows with the samples.
  if (descriptor_ < 0) descriptor_ = ::memfd_create("vernier", MFD_CLOEXEC);
  if (descriptor_ < 0) refuse("make");
}

OutputStore::~OutputStore() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

OutputStore::OutputStore(OutputStore&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), end_(other.end_), samples_(std::move(other.samples_)) {}

OutputStore& OutputStore::operator=(OutputStore&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(end_, other.end_);
  std::swap(samples_, other.samples_);
  return *this;
}

void OutputStore::put(std::size_t index, const std::vector<Tensor>& outputs) {
  if (samples_.size() <= index) samples_.resize(index + 1);
  for (const Tensor& output : outputs) {
    samples_[index].push_back({output.dtype(), output.shape(), end_});
    for (std::size_t written = 0; written < output.byte_size();) {
      const ssize_t n = ::pwrite(descriptor_, output.bytes().data() + written, output.byte_size() - written,
                                 static_cast<off_t>(end_ + written));
      if (n <= 0) refuse("write");
      written += static_cast<std::size_t>(n);
    }
    end_ += output.byte_size();
  }
}

std::vector<Tensor> OutputStore::get(std::size_t index) const {
  std::vector<Tensor> outputs;
  for (const Entry& entry : samples_.at(index)) {
    Tensor tensor(entry.dtype, entry.shape);
    const std::span<std::byte> bytes = tensor.mutable_bytes();
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n =
          ::pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(entry.offset + done));
      if (n <= 0) refuse("read");
      done += static_cast<std::size_t>(n);
    }
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

}  // namespace vernier
