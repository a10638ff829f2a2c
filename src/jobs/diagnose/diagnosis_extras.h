// What a diagnosis adds once it has its answer: whether ONNX Runtime runs the file, latency, an engine's compiler,
// other ways to the requirement, pictures.
#pragma once

#include <optional>

#include "causes/facts.h"
#include "jobs/diagnose/diagnosis_repairs.h"
#include "jobs/diagnose/diagnosis_run.h"
#include "jobs/diagnose/diagnosis_search.h"
#include "jobs/diagnose/measured_network.h"
#include "jobs/engine/compiler.h"

namespace vernier {

/// What the engine that decides about files adds to the noise of its simulation: in the file that the search confirmed
/// in vain, `refused`, else in ONNX Runtime with everything low, if files are made for it.
std::optional<EngineLossFacts> engine_loss(DiagnosisRun& run, MeasuredNetwork& network,
                                           const std::optional<RefusedFile>& refused);
/// Whoever deploys the file there is to know before. It is news where the file is made for ONNX Runtime, and where the
/// default optimizations alone refuse it; elsewhere it concerns whoever tries the file on a CPU first.
void try_on_onnxruntime(DiagnosisRun& run, MeasuredNetwork& network);
void measure_latency(DiagnosisRun& run, MeasuredNetwork& network);
void compile_answer(DiagnosisRun& run, MeasuredNetwork& network, Compiler& compiler);
/// The other ways, to the report; one of them that is the answer.
std::optional<DiagnosisAnswer> measure_alternatives(DiagnosisRun& run, MeasuredNetwork& network);
void draw_layers(DiagnosisRun& run, MeasuredNetwork& network);
void draw_samples(DiagnosisRun& run, const Loaded& loaded);

}  // namespace vernier
