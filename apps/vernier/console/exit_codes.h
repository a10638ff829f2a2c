// What the exit codes of all commands mean: for `vernier help codes` and the reference.
#pragma once

namespace vernier::cli {

struct ExitCode {
  int code;
  const char* meaning;
};

inline constexpr ExitCode kExitCodes[] = {
    {0, "done: the comparison passed, the requirement is met"},
    {1,
     "the answer is no: a comparison failed, the requirement is missed, lint found errors, or an engine refuses the "
     "Q/DQ pairs of the file that verify reads"},
    {2, "usage: unknown or contradicting options"},
    {3, "input: a model, samples or files cannot be read or written"},
    {4,
     "backend: ONNX Runtime or an engine is missing or fails; with --compile or --target onnxruntime also: it refuses "
     "the output model"},
    {5, "the requirement is met, but with no layer in low precision"},
    {70, "internal error: a fault of vernier, please report it"},
    {130, "interrupted before all was done"},
};

}  // namespace vernier::cli
