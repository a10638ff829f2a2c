// An engine in a process of its own: asked what it is, which nodes it takes, and to compile. What it does wrong, from
// an exception to a crash, is one error; the next question starts it anew.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"
#include "vernier/report/engine.h"
#include "vernier/tensor.h"

namespace vernier {

class ScriptSession;

enum class HostedEngine { TensorRt, TensorRtRtx };

struct HostOptions {
  std::string python = "python3";
  double seconds = 0;  // that each answer may take; 0: any number
  std::function<bool()> interrupted;
};

/// The smallest, the usual and the largest shape of an input.
struct ShapeRange {
  Shape min, opt, max;
};

struct CompileRequest {
  std::filesystem::path model;
  std::map<std::string, ShapeRange> shapes;  // of inputs with open dimensions
  std::string capability;                    // "8.9"; empty: of the device that is here
};

/// One node that the engine refuses, in its own words.
struct EngineRefusal {
  int index = -1;  // of the node in the file; -1: none
  std::string node, op_type, text;
};

struct CompiledEngine {
  std::vector<EngineKernel> kernels;
  std::vector<EngineRefusal> refusals;  // not empty: there is no engine
  std::string stage;                    // that refused: "parser", "builder"
  std::size_t bytes = 0;
  double seconds = 0;
  std::vector<std::string> words;  // its warnings
};

struct EngineSupport {
  bool all = false;
  struct Part {
    bool supported = false;
    std::vector<int> nodes;  // indices in the file
  };
  std::vector<Part> parts;
  std::vector<EngineRefusal> refusals;
};

class EngineHost {
 public:
  EngineHost(HostedEngine engine, HostOptions options);
  ~EngineHost();
  EngineHost(const EngineHost&) = delete;
  EngineHost& operator=(const EngineHost&) = delete;

  /// Errors of all: Backend, in the engine's words: it is not there, it refuses, it crashed, it took too long;
  /// Interrupted.
  const EngineAbout& about();
  EngineSupport supports(const std::filesystem::path& model);
  /// That it refuses the model is a value.
  CompiledEngine compile(const CompileRequest& request);
  /// An engine file that was built before; only kernels and bytes are filled.
  CompiledEngine describe(const std::filesystem::path& engine);

  const char* name() const;    // "TensorRT-RTX"
  std::string advice() const;  // how to get it

 private:
  void start();
  Json ask(const char* what, Json work);
  /// Where the host refused. Errors: Backend; JsonError.
  void throw_refusal(const Json& said) const;
  std::vector<EngineKernel> kernels_of(const Json& done) const;
  template <class Read>
  auto checked(const Read& read);
  void keep_words(std::string_view text);

  HostedEngine engine_;
  HostOptions options_;
  std::string words_;  // what it last wrote to its standard error
  std::unique_ptr<EngineAbout> about_;
  std::unique_ptr<ScriptSession> session_;
};

}  // namespace vernier
