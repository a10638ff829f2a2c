// The parts that a session runs in, one behind the other: sessions of the runtime, and what they read in place.
#pragma once

#include <onnxruntime_c_api.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engines/cuda/gpu.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "model/model.h"
#include "model/parts.h"
#include "vernier/tensor.h"

namespace vernier {

using OwnedSession = Handle<OrtSession, &OrtApi::ReleaseSession>;
using OwnedValue = Handle<OrtValue, &OrtApi::ReleaseValue>;
using OwnedMemoryInfo = Handle<OrtMemoryInfo, &OrtApi::ReleaseMemoryInfo>;
using RunValues = std::map<std::string, OwnedValue>;

OwnedMemoryInfo gpu_memory(const Runtime& runtime);
OwnedMemoryInfo cpu_memory(const Runtime& runtime);

/// A view of the tensor's bytes, which must outlive it.
OwnedValue value_of(const Runtime& runtime, const OrtMemoryInfo* memory, const Tensor& tensor);
/// A view of the tensor's `copy`, which must outlive it.
OwnedValue value_on_gpu(const Runtime& runtime, const OrtMemoryInfo* memory, const Tensor& tensor,
                        const GpuMemory& copy);

struct Part {
  std::map<std::string, Tensor> weights;
  std::vector<std::shared_ptr<const GpuMemory>> weights_on_gpu;  // of those that are fed
  std::vector<OwnedValue> weight_values;
  OwnedSession session;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> output_names;    // as the session has them
  std::vector<const char*> fed_names;       // weights that are inputs of the session
  std::vector<const OrtValue*> fed_values;  // none: they go to the GPU with each run
  std::vector<const Tensor*> fed_weights;
  std::vector<std::string> last_reads;  // tensors of parts before that are needed no more
};

/// Where a session finds its memory.
struct Places {
  OwnedMemoryInfo cpu, gpu;  // the latter empty: it runs on the CPU
};

/// One part is the whole model. Errors: Backend with the runtime's text; Interrupted.
Part whole_part(const Runtime& runtime, const Places& places, const Model& model, const SessionOptions& options);
/// On a GPU several parts leave no weights there between their runs.
std::vector<Part> parts_from(const Runtime& runtime, const Places& places, std::vector<ModelPart> models,
                             const SessionOptions& options);
/// Whether all that parts hand on is numbers.
bool hand_on_numbers(const Runtime& runtime, const std::vector<Part>& parts);

}  // namespace vernier
