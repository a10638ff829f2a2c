#include "vernier/device.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstddef>
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

std::optional<ByteSize> parse_size(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  constexpr std::string_view kUnits = "kmgt";
  if (!unit.empty()) {
    const std::size_t power = kUnits.find(static_cast<char>(unit.front() | 0x20));  // in lower case
    if (power != std::string_view::npos) {
      number = std::ldexp(number, 10 * (static_cast<int>(power) + 1));
      unit.remove_prefix(1);
      if (unit.starts_with('i') && unit.size() > 1) unit.remove_prefix(1);
    }
    if (unit == "B" || unit == "b") unit = {};
  }
  constexpr double kMost = 0x1p63;
  if (!unit.empty() || !(number >= 1) || number >= kMost) return std::nullopt;
  return ByteSize{static_cast<std::uint64_t>(number)};
}

}  // namespace vernier
