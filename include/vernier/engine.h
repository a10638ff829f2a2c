// Engines that run in a process of their own, in the user's Python.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"
#include "vernier/tensor.h"
#include "vernier/words.h"

namespace vernier {

/// Which engine is asked. "any": TensorRT or TensorRT-RTX, the first that is there and can do what is wanted;
/// "tensorrt", "tensorrt-rtx", "openvino".
enum class EngineChoice { Any, TensorRt, TensorRtRtx, OpenVino };
VERNIER_API std::span<const std::string_view> words_of(EngineChoice which);

/// The smallest, the usual and the largest shape of an input.
struct ShapeRange {
  Shape min, opt, max;
};

/// What an engine is told beside the model: values by the names of the options that give them, without dashes
/// ("builder-optimization-level": "3"). An engine that has no such thing refuses, by the option's name.
using EngineSettings = std::map<std::string, std::vector<std::string>>;

struct CompileOptions {
  EngineChoice engine = EngineChoice::Any;
  std::string compute_capability;       // "8.9"; empty: of the GPU that is here, else 8.9 where it compiles for that
  std::map<std::string, Shape> shapes;  // of inputs; open dimensions of others are 1
  std::string python = "python3";       // that has the engine's packages
  double seconds = 600;                 // that each answer of the engine may take
  EngineSettings settings{};
  std::vector<std::filesystem::path> plugins;  // of TensorRT: libraries that its process loads
};

/// Where figures are measured beside the simulation: "onnxruntime", "tensorrt" (or TensorRT-RTX), "openvino".
enum class MeasureOn { OnnxRuntime, TensorRt, OpenVino };
VERNIER_API std::span<const std::string_view> words_of(MeasureOn which);

/// How an engine is built for the device that is here, and run.
struct EngineRunOptions {
  EngineChoice engine = EngineChoice::Any;
  std::string device;                        // OpenVINO: "GPU.0"; empty: CPU
  std::map<std::string, ShapeRange> shapes;  // of inputs with open dimensions; of others those of the samples
  EngineSettings settings;
  std::filesystem::path save_engine;           // empty: it is not kept
  std::string python = "python3";              // that has the engine's packages
  double seconds = 600;                        // that each answer of the engine may take
  std::vector<std::filesystem::path> plugins;  // as in CompileOptions
};

}  // namespace vernier
