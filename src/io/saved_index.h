// Where the arrays lie in the JSON files that Polygraphy's --save-inputs and --save-outputs write:
//
//   inputs   [ { "x": ARRAY, ... }, ... ]     a list of samples, or one sample bare
//   results  { "lst": [ [ "runner", [ { "outputs": { "y": ARRAY, ... }, "runtime": 0.01, "runner_name": "runner",
//                                       "polygraphy_class": "IterationResult" }, ... ] ], ... ],
//              "polygraphy_class": "RunResults" }
//   ARRAY    { "array": "<base64 of a .npy file>", "polygraphy_class": "ndarray" }
//            or { "values": ARRAY, "polygraphy_class": "LazyArray" }, which --save-outputs puts around it
//
// Files grow to gigabytes, so only positions are kept. Keys may come in any order; numbers may be NaN and Infinity, as
// Python writes them. Everything in a file is visited, so that what is read is valid JSON from end to end.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"

namespace vernier {

struct SavedArray {
  std::size_t name = 0;            // in SavedFile::names: files repeat a few names for every iteration
  std::size_t first = 0, end = 0;  // the Base64 text in the file, without its quotes
};

struct SavedIteration {
  std::vector<SavedArray> arrays;  // in the order of the file
  std::optional<double> seconds;
};

struct SavedRun {
  std::string name;
  std::vector<SavedIteration> iterations;
};

struct SavedFile {
  enum class Kind { Inputs, Results };
  Kind kind = Kind::Inputs;
  std::vector<std::string> names;
  std::vector<SavedRun> runs;  // inputs: one without a name
};

/// Errors: Input, starting with `where`: not JSON, and at which byte; neither inputs nor results; two arrays of one
/// name; a class that only Python can read; nested deeper than the format; more than 4 GB in one file. Cost: one pass
/// at memory speed. Memory: the result, and 4 bytes for each bracket, comma and text while it runs.
SavedFile index_saved_file(const MappedFile& file, const std::string& where);

/// The same, for a file that must hold `kind`. Errors: Input when it holds the other one, with what would read it.
SavedFile index_saved_file(const MappedFile& file, const std::string& where, SavedFile::Kind kind);

}  // namespace vernier
