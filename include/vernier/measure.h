// What all jobs that measure are asked with.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/device.h"
#include "vernier/export.h"
#include "vernier/requirement.h"
#include "vernier/samples.h"

namespace vernier {

/// What all jobs that measure share (docs/contract.md, 1, 2, 4, 5).
struct MeasureOptions {
  SourceOptions data;
  std::optional<SourceOptions> calibration_data;  // absent: the samples given
  /// --calibration-cache: when it is there, and belongs to the model, ranges are read from it and no samples are needed
  /// for them; else it is written with those that were learned.
  std::filesystem::path calibration_cache;
  /// Judged outputs, and slices of outputs: "output0[:,4:]"; empty: every float output that carries no state.
  std::vector<std::string> outputs;
  /// Outputs that join values of different scale (boxes and scores) are judged part by part as well; not with MaxMse
  /// and MinTop1Agreement, which would mean something else of a part.
  bool output_parts = true;
  std::vector<std::pair<std::string, std::string>> carries;  // --carry OUT:IN
  std::optional<Requirement> requirement;
  /// (output, axis): along which axis the classes of an output lie; output "" for all judged ones. Where nothing is
  /// given the graph says it (docs/contract.md, 4). Axes count from 0, or from -1 backwards.
  std::vector<std::pair<std::string, int>> top1_axes;
  /// Of diagnose() and fix(): what is claimed of a network that samples taught, ranges and repairs, is measured on
  /// samples that it has not seen. Each half of the samples is judged by the network that the other half taught; the
  /// one that is written is taught by all. Not of fewer than ten samples, sequences, random ones or with
  /// `calibration_data`, where nothing has to be halved. False: all samples teach and judge.
  bool cross_fit = false;
  std::size_t threads = 0;  // 0: all usable cores
  /// Where networks run. Errors of jobs: Backend, with what is missing and how to get it, if it is a GPU that cannot be
  /// used; nothing falls back to the CPU.
  Device device;
  /// --gpu-memory: the most that networks and what they read take of a GPU, beside CUDA's own libraries; absent: what
  /// is free when the GPU is opened. Of the process: jobs at the same time on one GPU share the latest.
  std::optional<ByteSize> gpu_memory;
  /// Of calibrate(), verify() and evaluate(): so many samples of equal shapes run as one, where the network allows it
  /// and gives what it gives for each; a warning says where not. Memory: so many samples a thread.
  std::size_t batch = 1;
  /// Where calibrate(), quantize(), diagnose() and fix() keep what a run over samples has learned every few seconds: a
  /// job that is killed, or interrupted, goes on from there when it is started again, by the same build on the same
  /// machine, network and samples, and gives what it would have given. What a job keeps is removed when it is done.
  /// Empty: nothing is kept. Not for sequences, with `batch`, or under MPI.
  std::filesystem::path partial_folder;
  /// --custom-ops: shared libraries of custom operators, each with ONNX Runtime's RegisterCustomOps(). They run inside
  /// this process, which a crash in one of their operators ends.
  std::vector<std::filesystem::path> custom_operators;
  /// --external-data-dir: where weights lie that models keep outside; empty: beside each model.
  std::filesystem::path external_data_dir;
};

}  // namespace vernier
