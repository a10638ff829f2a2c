// Reference outputs of all samples, kept outside memory: a temporary file without a name, which the system's cache
// holds while there is room. Memory does not grow with the number of samples.
#pragma once

#include <cstddef>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {

class OutputStore {
 public:
  /// Errors: Input when no temporary file can be made.
  OutputStore();
  ~OutputStore();
  OutputStore(OutputStore&&) noexcept;
  OutputStore& operator=(OutputStore&&) noexcept;

  /// Appends the outputs of sample `index`; each index once, in any order. Errors: Input when the disk is full.
  void put(std::size_t index, const std::vector<Tensor>& outputs);
  /// Reads them back. Safe from several threads once all were put.
  std::vector<Tensor> get(std::size_t index) const;

 private:
  struct Entry {
    Dtype dtype = Dtype::Undefined;
    Shape shape;
    std::size_t offset = 0;
  };
  int descriptor_ = -1;
  std::size_t end_ = 0;
  std::vector<std::vector<Entry>> samples_;
};

}  // namespace vernier
