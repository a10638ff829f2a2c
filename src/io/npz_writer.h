// A .npz of iterations or samples, as numpy.savez makes one: stored, not compressed. The arrays of one iteration have
// their own names; those of several are called iteration_<i>/<name>, because their shapes may differ. Samples are
// always called sample_<i>/<name>: --data takes the first axis of an array with a plain name for samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/spool.h"
#include "vernier/tensor.h"

namespace vernier {

class NpzWriter {
 public:
  enum class Content { Iterations, Samples };
  /// Errors of all functions: Input when the disk refuses, or NumPy has no such type.
  NpzWriter(std::filesystem::path path, Content content);

  void add(const std::vector<NamedTensor>& arrays);
  /// Writes the archive to a temporary name, then renames it.
  void commit();

 private:
  struct Member {
    std::size_t iteration;
    std::string name;
    std::uint64_t first, size;  // in spool_
  };

  std::filesystem::path path_;
  Content content_;
  Spool spool_;
  std::vector<Member> members_;
  std::size_t iterations_ = 0;
};

}  // namespace vernier
