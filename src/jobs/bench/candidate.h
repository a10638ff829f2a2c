// What is timed: a model on a runner, made ready, with its inputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "engines/onnxruntime/session.h"
#include "jobs/engine/engine_runner.h"
#include "model/model.h"
#include "vernier/report/bench.h"
#include "vernier/samples.h"

namespace vernier {

class Runtime;

/// One turn: at least `least` runs, and as many as fit into `seconds`, behind `skip` that do not count.
struct Turn {
  std::size_t least = 1;
  double seconds = 0;
  std::size_t skip = 0;
};

class Candidate {
 public:
  virtual ~Candidate() = default;
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  /// Seconds of each run. Errors: Backend; Interrupted.
  virtual std::vector<double> time(const Turn& turn) = 0;
  /// The same as wall time with inputs and outputs copied; empty where they live nowhere else.
  virtual std::vector<double> time_with_copies(const Turn& /*turn*/) { return {}; }
  /// Times of its kernels in `runs` runs, slowest first.
  virtual std::vector<BenchLayer> layers(std::size_t runs) = 0;
  /// A turn costs seconds, however short: it has a single one, by itself.
  virtual bool has_one_turn() const { return false; }

  BenchRow& row() { return row_; }

 protected:
  explicit Candidate(BenchRow row) : row_(std::move(row)) {}

 private:
  BenchRow row_;
};

/// A model on ONNX Runtime, in this process.
class SessionCandidate final : public Candidate {
 public:
  SessionCandidate(BenchRow row, std::shared_ptr<const Runtime> runtime, Model model, const SessionOptions& options,
                   Sample sample);

  std::vector<double> time(const Turn& turn) override;
  std::vector<BenchLayer> layers(std::size_t runs) override;

 private:
  std::shared_ptr<const Runtime> runtime_;
  Model model_;
  SessionOptions options_;
  Sample sample_;
  std::unique_ptr<Session> session_;
};

/// An engine that is open in a process of its own.
class EngineCandidate final : public Candidate {
 public:
  EngineCandidate(BenchRow row, std::unique_ptr<EngineRunner> engine, Sample sample);

  std::vector<double> time(const Turn& turn) override;
  std::vector<double> time_with_copies(const Turn& turn) override;
  std::vector<BenchLayer> layers(std::size_t runs) override;
  bool has_one_turn() const override { return engine_->starts_anew(); }

 private:
  EngineTimes ask(const Turn& turn, bool copies);

  std::unique_ptr<EngineRunner> engine_;
  Sample sample_;
  bool given_ = false;
};

}  // namespace vernier
