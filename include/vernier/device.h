// Where a job runs its networks: on the CPU, or on an NVIDIA GPU through ONNX Runtime's CUDA build.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "vernier/export.h"

namespace vernier {

/// Auto is the first GPU for jobs that are large enough, if there is one, and the CPU otherwise.
enum class DeviceKind { Auto, Cpu, Cuda };

struct Device {
  DeviceKind kind = DeviceKind::Auto;
  int index = 0;  // of the GPU, as CUDA counts those that CUDA_VISIBLE_DEVICES leaves
  bool operator==(const Device&) const = default;
};

/// "auto", "cpu", "cuda:1".
VERNIER_API std::string device_text(const Device& device);
/// The reverse; "cuda" is the first GPU. nullopt for other texts.
VERNIER_API std::optional<Device> parse_device(std::string_view text);

}  // namespace vernier
