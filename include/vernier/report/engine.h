// What an engine's compiler made of a typed file: its kernels, and what each layer of the file runs in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/report/text.h"

namespace vernier {

struct EngineTensor {
  std::string name;
  std::string type;    // "int8", "float16": our words; the engine's own where it has another
  std::string layout;  // the engine's words
};

/// Their types, each once, in their order.
inline std::vector<std::string> types_of(const std::vector<EngineTensor>& tensors) {
  std::vector<std::string> types;
  for (const EngineTensor& tensor : tensors) {
    if (std::ranges::find(types, tensor.type) == types.end()) types.push_back(tensor.type);
  }
  return types;
}

/// One kernel of a compiled engine, in the order in which they run.
struct EngineKernel {
  std::string name, kind, tactic;  // the engine's words
  std::vector<EngineTensor> inputs, constants, outputs;
  std::vector<std::string> nodes;  // of the ONNX file, that are computed in it or put in front of it
};

/// An engine, and where it is.
struct EngineAbout {
  std::string name, version;  // "TensorRT-RTX", "1.7.1.116"
  std::string package, python;
  struct Device {
    std::string name, capability;
    std::size_t memory = 0;  // bytes
  };
  std::vector<Device> devices;
  std::string no_device;                  // why there is none
  std::vector<std::string> capabilities;  // compiled for without such a device
  bool compiles = false, runs = false;
  bool parses = true;  // says of each node whether it is taken, without compiling
};

/// What one layer of the file became.
struct EngineLayer {
  std::string name, op_type;
  Format asked = Format::Float32;  // by the file
  /// Kernel that computes it, from 0; nullopt: in none by name, a constant or part of another one.
  std::optional<std::size_t> kernel;
  std::vector<std::string> reads, writes;  // types of that kernel's data, each once
  std::size_t shared = 0;                  // layers of the file in that kernel, itself included
  bool differs = false;                    // it runs in another format than the file says
};

struct EngineReport {
  int version = 1;
  std::string file, sha256;
  EngineAbout engine;
  std::string compiled_for;  // "compute capability 8.9", or the device; empty: layers were read from a file
  std::size_t bytes = 0;     // of the engine
  double seconds = 0;        // to build it
  std::vector<EngineKernel> kernels;
  std::vector<EngineLayer> layers;  // empty without a model
  /// Kernels in which no layer is computed: they rescale, convert, move or fill; by index.
  std::vector<std::size_t> helpers;
  /// Of the same network with all layers in float16 that can be, where the file has layers in fewer bits.
  std::optional<std::size_t> float16_kernels;
  std::string refused;             // why it made no engine of the file, in its own words: there are no kernels then
  std::vector<std::string> words;  // the engine's own warnings
  std::vector<Note> notes;
};

VERNIER_API std::string report_to_text(const EngineReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const EngineReport& report);

}  // namespace vernier
