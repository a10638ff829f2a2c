// Values as bytes and back, between processes of one program on machines of one kind.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "distributed/ranks.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {

class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { put_bytes(std::as_bytes(std::span(&value, 1))); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const std::vector<T>& values) {
    put(values.size());
    put_bytes(std::as_bytes(std::span(values)));
  }
  void put(const std::string& text) { put(std::vector<char>(text.begin(), text.end())); }
  void put(const Tensor& tensor) {
    put(tensor.dtype());
    put(tensor.shape());
    put_bytes(tensor.bytes());
  }
  Message take() { return std::move(bytes_); }

 private:
  void put_bytes(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  Message bytes_;
};

/// In the order of the Packer. Errors: Internal when the bytes end too early.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : left_(bytes) {}
  bool empty() const { return left_.empty(); }

  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value;
    std::memcpy(&value, next(sizeof(T)).data(), sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> get_vector() {
    const auto count = get<std::size_t>();
    if (count > left_.size() / sizeof(T)) fail();
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), next(count * sizeof(T)).data(), count * sizeof(T));
    return values;
  }
  std::string get_text() {
    const std::vector<char> text = get_vector<char>();
    return {text.begin(), text.end()};
  }
  Tensor get_tensor() {
    const auto dtype = get<Dtype>();
    Tensor tensor(dtype, get_vector<Shape::value_type>());
    const std::span<const std::byte> bytes = next(tensor.byte_size());
    if (!bytes.empty()) std::memcpy(tensor.mutable_bytes().data(), bytes.data(), bytes.size());
    return tensor;
  }

 private:
  [[noreturn]] static void fail() { throw Error(ErrorKind::Internal, "a message of another rank is cut off"); }
  std::span<const std::byte> next(std::size_t size) {
    if (size > left_.size()) fail();
    const std::span<const std::byte> taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  std::span<const std::byte> left_;
};

}  // namespace vernier
