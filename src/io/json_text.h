// The text of saved inputs and results, byte for byte as Polygraphy 0.53 writes it: Python's json.dumps(indent=4),
// names in ASCII, null where no time was taken, the class of an object last. In pieces, so that an array's text is
// never whole in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {

using TextSink = std::function<void(std::string_view)>;

/// Where an iteration's object stands in a results file.
inline constexpr std::size_t kIterationIndent = 16;

/// One iteration of `runner`, without indentation before its first line.
/// Errors: Input when NumPy has no such type: bfloat16, float8, 4 bits.
void put_iteration(const TextSink& out, const Iteration& iteration, const std::string& runner);

/// The same for a sample of inputs, whose object stands at `indent`.
void put_sample(const TextSink& out, const std::vector<NamedTensor>& inputs, std::size_t indent);

/// A complete .npy file. `what` is "output" or "input". Errors: as above.
void put_npy(const TextSink& out, const NamedTensor& array, const std::string& what);

}  // namespace vernier
