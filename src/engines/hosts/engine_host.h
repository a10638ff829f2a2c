// An engine in a process of its own: asked what it is, which nodes it takes, to compile, and to run samples. What it
// does wrong, from an exception to a crash, is one error; the next question starts it anew.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/scratch_folder.h"
#include "json/json.h"
#include "vernier/engine.h"
#include "vernier/report/engine.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

class ScriptSession;

enum class HostedEngine { TensorRt, TensorRtRtx, Trtexec, OpenVino };

struct HostOptions {
  std::string python = "python3";
  std::string device;  // of an engine that has several kinds of them; empty: its usual one
  double seconds = 0;  // that each answer may take; 0: any number
  std::function<bool()> interrupted;
  std::vector<std::filesystem::path> plugins;  // of TensorRT, loaded before it does anything but say what it is
};

struct CompileRequest {
  std::filesystem::path model;
  std::map<std::string, ShapeRange> shapes;  // of inputs with open dimensions
  std::string capability;                    // "8.9"; empty: of the device that is here
  EngineSettings settings;
};

/// One node that the engine refuses, in its own words.
struct EngineRefusal {
  int index = -1;  // of the node in the file; -1: none
  std::string node, op_type, text;
};

/// An input or an output of an engine. A dimension below zero is open.
struct EnginePort {
  std::string name;
  Dtype dtype = Dtype::Float32;
  Shape shape;
};

struct CompiledEngine {
  std::vector<EngineKernel> kernels;
  std::vector<EngineRefusal> refusals;  // not empty: there is no engine
  std::string stage;                    // that refused: "parser", "builder"
  std::size_t bytes = 0;
  double seconds = 0;
  std::vector<EnginePort> inputs, outputs;  // as far as it says them
  std::vector<std::string> words;           // its warnings
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

/// How the engine that is open is timed.
struct TimeRequest {
  const Sample* sample = nullptr;  // null: what was given last, and is there already
  double seconds = 0;              // as many runs as fit
  std::size_t least = 1;           // runs, at least
  std::size_t skip = 0;            // runs before that which do not count
  bool copies = false;             // wall time, inputs copied in and outputs out; else of the inference alone
  bool cuda_graph = false;         // launched as one graph, where the engine has such
};

struct EngineTimes {
  std::vector<double> seconds;  // of each run
  bool device_clock = false;    // by the device's own clock; else wall time
};

/// One kernel's time.
struct EngineKernelTime {
  std::string name;
  double seconds = 0;  // median
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
  /// Errors, too: a plugin cannot be loaded, or it is an engine that takes none.
  void load_plugins();
  EngineSupport supports(const std::filesystem::path& model);
  /// That it refuses the model is a value: there is no engine then. `save`: where the engine goes; empty: nowhere.
  CompiledEngine compile(const CompileRequest& request, const std::filesystem::path& save);
  /// An engine file that was built before; only kernels and bytes are filled.
  CompiledEngine describe(const std::filesystem::path& engine);

  /// Builds an engine for the device that is here and holds it, in place of one that was held. The rest as of
  /// compile().
  CompiledEngine open(const CompileRequest& request, const std::filesystem::path& save);
  /// The same of an engine file that was built before.
  CompiledEngine open_built(const std::filesystem::path& engine);
  /// What the open engine makes of `sample`, in the order of its outputs; `seconds` of the inference alone, by the
  /// device's clock where it has one. Not to be called from several threads.
  std::vector<NamedTensor> run(const Sample& sample, double& seconds);

  /// Errors, as of all, also where it gives no times, or some that are none.
  EngineTimes time(const TimeRequest& request);
  /// Times of the kernels in `runs` runs on what was given last to time(), in the order in which they run.
  std::vector<EngineKernelTime> profile(std::size_t runs);
  /// Whether each question starts the engine anew, so that a turn of a few milliseconds costs seconds.
  bool starts_anew() const { return engine_ == HostedEngine::Trtexec; }

  const char* name() const;    // "TensorRT-RTX"
  std::string advice() const;  // how to get it; empty where nothing can be installed alone

 private:
  void start();
  Json ask(const char* what, Json work);
  /// Where the host refused. Errors: Backend; JsonError.
  void throw_refusal(const Json& said) const;
  std::vector<EngineKernel> kernels_of(const Json& done) const;
  CompiledEngine compiled_of(const Json& said) const;
  CompiledEngine open(Json work);
  void give_inputs(const Sample& sample, Json& work);
  template <class Read>
  auto checked(const Read& read);
  void keep_words(std::string_view text);

  HostedEngine engine_;
  HostOptions options_;
  std::string words_;  // what it last wrote to its standard error
  std::unique_ptr<EngineAbout> about_;
  std::unique_ptr<ScratchFolder> files_;  // of run(), each overwrites the last's, and of trtexec
  std::unique_ptr<ScriptSession> session_;
};

}  // namespace vernier
