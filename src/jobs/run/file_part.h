// Names of tensors in names of files.
#pragma once

#include <cctype>
#include <string>

namespace vernier {

/// A name from a model as a part of a file's name.
inline std::string file_part(std::string name) {
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    if (!plain) c = '_';
  }
  if (name.empty() || name.front() == '.') name.insert(0, 1, '_');
  return name.substr(0, 150);
}

}  // namespace vernier
