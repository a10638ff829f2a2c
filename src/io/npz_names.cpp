#include "io/npz_names.h"

#include <charconv>
#include <system_error>

namespace vernier {

std::string array_name(const std::string& member) {
  return member.ends_with(".npy") ? member.substr(0, member.size() - 4) : member;
}

std::optional<std::pair<std::uint64_t, std::string>> numbered_name(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc()) return std::nullopt;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  if (name.empty()) return std::pair(number, std::string());
  if (name[0] != '/' || name.size() == 1) return std::nullopt;
  return std::pair(number, std::string(name.substr(1)));
}

}  // namespace vernier
