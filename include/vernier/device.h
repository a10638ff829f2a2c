// Where a job runs its networks: on the CPU, or on an NVIDIA GPU through ONNX Runtime's CUDA build.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vernier/export.h"

namespace vernier {

/// Auto is the first GPU for jobs that are large enough, if there is one, and the CPU otherwise.
enum class DeviceKind { Auto, Cpu, Cuda };

struct Device {
  DeviceKind kind = DeviceKind::Auto;
  /// Of the GPU, as CUDA counts those that CUDA_VISIBLE_DEVICES leaves. Without one: the first; the ranks of a job take
  /// the GPUs of their machine in turns.
  std::optional<int> index;
  bool operator==(const Device&) const = default;
};

/// "auto", "cpu", "cuda", "cuda:1".
VERNIER_API std::string device_text(const Device& device);
/// The reverse; nullopt for other texts.
VERNIER_API std::optional<Device> parse_device(std::string_view text);

/// A size as people type it: "1500000", "512M", "1.5G". Units are powers of 1024; a B or iB may follow them.
struct ByteSize {
  std::uint64_t bytes = 0;
  bool operator==(const ByteSize&) const = default;
};
/// nullopt for other texts, and for less than a byte.
VERNIER_API std::optional<ByteSize> parse_size(std::string_view text);

}  // namespace vernier
