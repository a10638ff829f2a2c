// Figures that several reports hold: outputs and layers against the reference. All SQNR in dB. A value that was not
// measured is absent, never zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/arithmetic.h"
#include "vernier/format.h"
#include "vernier/target.h"

namespace vernier {

/// Within which a figure lies with a confidence of 95 %, by which samples happen to be there.
struct SamplingInterval {
  double low = 0, high = 0;
};

/// What one output is on one sample alone.
struct SampleFigure {
  std::size_t sample = 0;
  double sqnr_db = 0;
  std::optional<double> top1_agreement;  // as OutputFigure's
};

/// Samples whose classes a change moves away from those of the float model, and back to them.
struct AgreementChange {
  std::size_t worse = 0, better = 0;  // samples in which more rows, or fewer, have moved than before
  /// One-sided sign test: that as many samples or more are worse if a change does either equally often,
  ///   sum over k from `worse` to n of C(n, k) / 2^n,  n = worse + better.
  double chance = 1;

  /// At 5 %: five samples worse and none better are beyond chance, four are not.
  bool costs() const { return worse > better && chance < 0.05; }
};

/// The fewest samples that together hold more than half of an output's squared error.
struct HeavyTail {
  std::size_t samples = 0;
  double share = 0;  // of the squared error, 0.5 to 1
};

/// What a Softmax reads that makes an output. Behind it an error is as large as its sample is undecided; in front of it
/// every sample counts alike.
struct SoftmaxInput {
  std::string tensor;
  double sqnr_db = 0;
  std::optional<double> sqnr_above;  // as OutputFigure's
};

/// One judged output of one run, against the reference.
struct OutputFigure {
  std::string name;
  double sqnr_db = 0;  // pooled over samples; +inf when equal, -inf when only one of both is finite
  double worst_sqnr_db = 0;
  std::size_t worst_sample = 0;
  double max_abs_error = 0;
  double mse = 0;
  double cosine = 0;
  std::optional<double> top1_agreement;  // share of rows whose largest element is at the same place
  /// Absent: fewer than 8 samples, frames of a sequence, more than 64 outputs, or figures that are not finite. That of
  /// SQNR begins no higher than `sqnr_above`. With cross_fit it ends no lower than that of the written file on its own
  /// samples: half of them taught the networks that are judged, and it may be better than these.
  std::optional<SamplingInterval> sqnr_interval, top1_interval;
  /// What the figure exceeds on new samples with Requirement::confidence; absent where that is 0.5, or as above.
  std::optional<double> sqnr_above, top1_above;
  std::optional<HeavyTail> heavy_tail;        // absent: more than a tenth of the samples, or fewer than 10 in all
  std::optional<SoftmaxInput> softmax_input;  // absent: no Softmax makes it, or there is no heavy tail
  std::optional<int> class_axis;              // those rows lie along; absent: along the last axis longer than 1
  std::string class_axis_from;                // what says so: "ArgMax", "Conv", an option
  std::int64_t nonfinite = 0;                 // elements not finite where the reference is
  std::int64_t reference_nonfinite = 0;
  /// Elements where the reference is infinite and the other is not that infinity. The error has no bound; rows of
  /// top-1 can agree all the same.
  std::int64_t lost_infinities = 0;
  /// Lowest first, at most eight; none of a single sample, and of sequences, whose samples hang together.
  std::vector<SampleFigure> worst_samples;
};

/// Layers of the low precision network that give values that are not finite where the float model's are, while every
/// output is finite: a Relu, a clamp or a quantizer behind them makes some number of these, and an engine another one.
struct HiddenNonfinite {
  std::size_t layers = 0;
  std::string first, op_type;  // the first of them in graph order
};

/// One run: all high, all low, repaired, final.
struct RunFigures {
  std::vector<OutputFigure> outputs;
  std::optional<bool> passed;                         // absent without a requirement
  std::optional<double> damage;                       // share of the allowance used, at Requirement::confidence
  std::optional<HiddenNonfinite> nonfinite_inside{};  // absent: no layer, or layers were not looked at
};

/// The same network with convolutions that keep their sums otherwise than the report's other figures assume.
struct OtherSums {
  Accumulate accumulate = Accumulate::Float16;
  RunFigures figures;
};

/// The same network in ONNX Runtime or OpenVINO on an x86 CPU without VNNI: both add products of uint8 data and int8
/// weights in pairs of 16 bits that saturate, and make int8 data uint8 in front of most of them. Simulated.
struct SaturatedPairs {
  struct Layer {
    std::string name;
    std::string op_type;
    Format data = Format::UInt8;            // as the file has it
    std::int64_t pairs = 0, saturated = 0;  // over all samples
    /// Of the outputs' noise there, that this layer's saturation alone adds; measured for the worst layers.
    std::optional<double> share{};
  };
  Target runtime = Target::OnnxRuntime;  // whose kernels
  std::vector<Layer> layers;             // in which some pair saturates, the worst first
  RunFigures figures;
  std::optional<RunFigures> reduced;  // the same with weights in 7 bits
};

/// Nodes that an engine is known to refuse, or to compute otherwise than the simulation: no simulated figure holds
/// there.
struct NotSimulated {
  Target engine = Target::OpenVino;
  std::size_t nodes = 0;
  std::string first;  // the first of them
  std::string why;    // of that one
  std::string cure;
  bool refused = false;  // the engine takes no file with them

  std::string_view engine_name() const { return engine == Target::OpenVino ? "OpenVINO" : "TensorRT-RTX"; }
};

/// What an engine itself gave.
struct EngineFigures {
  std::string engine;  // "TensorRT-RTX 1.6.1.120 on NVIDIA H200"
  RunFigures figures;
  std::size_t kernels = 0;  // of the engine that gave them; 0: it does not list them
  /// Layers that it runs in another format than the file says.
  struct OtherFormat {
    std::string runs_in;             // "bfloat16", "int8 and float16"
    Format asked = Format::Float32;  // by the file
    std::vector<std::string> layers;
  };
  std::vector<OtherFormat> changed_formats;
  std::string other_formats;  // the same in a sentence; empty: none
  struct Layer {
    std::string name;
    double sqnr_db = 0;
  };
  std::vector<Layer> layers;  // at their outputs, with all of these marked as outputs of the engine
  std::string no_layers;      // why there are none
};

struct LayerRow {
  std::string name;
  std::string op_type;
  std::string graph;                     // "" for the main graph
  Format format = Format::Float32;       // in the all-low plan
  std::optional<double> own_sqnr_db;     // its own error, on reference inputs
  std::optional<double> sqnr_db;         // at its output, with everything before it low too
  std::optional<double> propagated_db;   // of what arrives with its inputs: all noise power less its own
  std::optional<double> sensitivity_db;  // SQNR of the worst judged output with only this layer low
  std::optional<double> stored_times;    // of `verify`: the power of two of its size that its result has in the file
  std::optional<double> share;           // of the summed damage of all layers, 0..1
  std::int64_t values = 0;               // rounded values looked at for the counts below
  std::int64_t overflowed = 0, saturated = 0, subnormal = 0, flushed = 0, nan = 0;
  std::optional<std::int64_t> macs;  // multiply-accumulates of one sample; absent: no sample was read
  bool kept = false;
};

struct PhaseTime {
  std::string phase;
  double seconds = 0;
};

}  // namespace vernier
