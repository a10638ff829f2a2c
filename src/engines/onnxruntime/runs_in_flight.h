// The runs of ONNX Runtime that this process is inside of, so that an interrupt ends them too.
#pragma once

#include <onnxruntime_c_api.h>

#include "engines/onnxruntime/runtime.h"

namespace vernier {

/// A run that end_runs_in_flight() (vernier/sinks.h) ends, from now until this object goes.
class RunInFlight {
 public:
  explicit RunInFlight(const Runtime& runtime);
  ~RunInFlight();
  RunInFlight(const RunInFlight&) = delete;
  RunInFlight& operator=(const RunInFlight&) = delete;

  /// Memory of that GPU that a session keeps goes back at the end of each part that this runs.
  void return_memory_of_gpu(int index);

  const OrtRunOptions* options() const noexcept { return options_.get(); }
  /// True when it was told to end: an error of the run means nothing else then.
  bool told_to_end() const;

 private:
  friend bool end_runs_in_flight();
  friend class JobsOfThread;
  static bool end_those(const void* whom);
  const Runtime& runtime_;
  Handle<OrtRunOptions, &OrtApi::ReleaseRunOptions> options_;
  const void* for_whom_;
  bool told_ = false;  // guarded by the lock of the list
};

}  // namespace vernier
