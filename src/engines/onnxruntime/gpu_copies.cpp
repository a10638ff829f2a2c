#include "engines/onnxruntime/gpu_copies.h"

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

void GpuCopies::limit(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  most_bytes_ = bytes;
  if (kept_bytes_ > most_bytes_) drop([](const Copy& copy) { return copy.memory.use_count() == 1; });
}

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
    drop([](const Copy& copy) { return copy.bytes.expired(); });
  }
  const std::shared_ptr<GpuMemory> made = room_for(tensor.byte_size());
  gpu_->copy_in(made->address(), bytes, tensor.byte_size());
  const std::lock_guard lock(mutex_);
  if (kept_bytes_ + tensor.byte_size() <= most_bytes_ &&
      copies_.try_emplace(bytes, Copy{tensor.lifetime(), made}).second) {
    kept_bytes_ += tensor.byte_size();
  }
  return made;
}

std::shared_ptr<GpuMemory> GpuCopies::room_for(std::size_t bytes) {
  try {
    return std::make_shared<GpuMemory>(gpu_, bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::OutOfMemory) throw;
    const std::lock_guard lock(mutex_);
    drop([](const Copy& copy) { return copy.memory.use_count() == 1; });
  }
  return std::make_shared<GpuMemory>(gpu_, bytes);
}

template <class Unwanted>
void GpuCopies::drop(const Unwanted& unwanted) {
  std::erase_if(copies_, [&](const auto& copy) {
    if (!unwanted(copy.second)) return false;
    kept_bytes_ -= copy.second.memory->bytes();
    return true;
  });
}

}  // namespace vernier
