// Names of one column in fewer columns, so that no two of them become one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vernier {

/// The beginning and the end that most names share, up to one of "/.:_", and the names without: ".." stands for what
/// was left out. Both are empty where leaving them out is hardly worth it.
struct CutNames {
  std::string start, end;
  std::vector<std::string> names;
};
CutNames cut_shared_ends(const std::vector<std::string>& names);

/// `names`, each in at most `width` columns, in their order. A name that is too long shows the letters that tell it
/// from the others and what stands around them, with ".." for the rest. Edges: a name without others loses its middle
/// (shorten_middle()); where the letters that tell it do not fit, the last of them are shown.
std::vector<std::string> short_names(const std::vector<std::string>& names, std::size_t width);

}  // namespace vernier
