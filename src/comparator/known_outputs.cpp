#include "comparator/known_outputs.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

void require_outputs(const NamedOutputs& named, const Iteration& got, const Iteration& ref) {
  if (named.empty()) return;
  std::set<std::string> known;
  for (const Iteration* run : {&got, &ref}) {
    for (const NamedTensor& output : run->outputs) known.insert(output.name);
  }
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [option, name] : named) {
    if (known.contains(name)) continue;
    const std::vector<std::string> near = nearest_names(name, names);
    throw Error(ErrorCode::UnknownName, fmt::format("{}: there is no output '{}'", option, printable(name)),
                near.empty() ? "outputs: " + list_some(names, 10) : "nearest: " + list_some(near));
  }
}

}  // namespace vernier
