#include "vernier/device.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <system_error>

namespace vernier {

std::string device_text(const Device& device) {
  switch (device.kind) {
    case DeviceKind::Auto:
      return "auto";
    case DeviceKind::Cpu:
      return "cpu";
    case DeviceKind::Cuda:
      break;
  }
  return device.index ? fmt::format("cuda:{}", *device.index) : "cuda";
}

std::optional<Device> parse_device(std::string_view text) {
  if (text == "auto") return Device{};
  if (text == "cpu") return Device{DeviceKind::Cpu, {}};
  constexpr std::string_view kCuda = "cuda";
  if (!text.starts_with(kCuda)) return std::nullopt;
  text.remove_prefix(kCuda.size());
  if (text.empty()) return Device{DeviceKind::Cuda, {}};
  int index = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 1, end, index);
  if (text.front() != ':' || error != std::errc() || stop != end || index < 0) return std::nullopt;
  return Device{DeviceKind::Cuda, index};
}

}  // namespace vernier
