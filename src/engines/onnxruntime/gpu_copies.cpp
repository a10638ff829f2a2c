#include "engines/onnxruntime/gpu_copies.h"

namespace vernier {

std::shared_ptr<const GpuMemory> GpuCopies::of(const Tensor& tensor) {
  const std::byte* const bytes = tensor.bytes().data();
  {
    const std::lock_guard lock(mutex_);
    const auto known = copies_.find(bytes);
    // Two tensors of one place may differ in size: views of a larger one. And a place may hold another tensor by now.
    if (known != copies_.end() && !known->second.bytes.expired() &&
        known->second.memory->bytes() == tensor.byte_size()) {
      return known->second.memory;
    }
    drop_ended();
  }
  auto made = std::make_shared<GpuMemory>(gpu_, tensor.byte_size());
  gpu_->copy_in(made->address(), bytes, tensor.byte_size());
  const std::lock_guard lock(mutex_);
  if (kept_bytes_ + tensor.byte_size() <= most_bytes_ &&
      copies_.try_emplace(bytes, Copy{tensor.lifetime(), made}).second) {
    kept_bytes_ += tensor.byte_size();
  }
  return made;
}

void GpuCopies::drop_ended() {
  std::erase_if(copies_, [this](const auto& copy) {
    if (!copy.second.bytes.expired()) return false;
    kept_bytes_ -= copy.second.memory->bytes();
    return true;
  });
}

}  // namespace vernier
