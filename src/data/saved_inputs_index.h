// Where the arrays lie in a saved-inputs file, the JSON that Polygraphy's --save-inputs writes:
//
//   [ { "x": { "array": "<base64 of a .npy file>", "polygraphy_class": "ndarray" } }, ... ]
//
// A list of samples, or one sample bare. Files grow to gigabytes, so only positions are kept, and one text at a time is
// held.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace vernier {

/// The Base64 text of one array, as a range of the file; quotes and escapes included.
struct SavedArray {
  std::size_t first = 0;
  std::size_t end = 0;
};

/// Arrays by input name, for each sample in the file.
/// Errors: Input, starting with `where`: not JSON, not saved inputs (results saved by --save-outputs are told apart),
/// nested deeper than the format.
std::vector<std::map<std::string, SavedArray>> index_saved_inputs(std::span<const std::byte> file,
                                                                  const std::string& where);

}  // namespace vernier
