// From what the user asked for (formats, target, exceptions) to the formats of a plan (docs/contract.md, 1, 2). Its
// grids come from what calibration saw: calibrate.h.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/layers.h"
#include "model/prepare.h"
#include "plan/plan.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/precision.h"
#include "vernier/quantization.h"
#include "vernier/target.h"

namespace vernier {

/// A layer that does not run in the lowest format asked for, and why.
struct SkippedLayer {
  std::string name;
  std::string op_type;
  Format runs_in = Format::Float32;
  std::string reason;
  bool chosen = false;                 // by the user: a selection or an exception
  std::optional<Format> instead_of{};  // the low format that it cannot take, where it runs in another one
};

struct AssignedFormats {
  Plan plan;                            // formats only; quantization parameters are filled by calibrate_plan
  std::vector<std::string> candidates;  // layers below the high format that a search may raise
  std::vector<SkippedLayer> skipped;
  std::vector<Note> warnings;  // exceptions not honoured ("prefer"), or ignored ("none")
  std::vector<Note> notes;     // layers that keep float32 by what they compute
  bool nothing_gains = false;  // all layers that could be quantized stay high: none would be faster
};

/// Every format that the options name for some layer, the high one included: what a model is prepared for.
std::set<Format> formats_named(const PrecisionOptions& precision);

/// The opset that the rules need beyond what each format does (opset_needed): scales in float16 or bfloat16; 0: none.
int opset_of_rules(const PrecisionOptions& precision);

/// What a model is prepared for to be planned so: formats and scales, no opset beyond what the formats need.
PrepareOptions preparation_of(const PrecisionOptions& precision);
/// What it was prepared for when `plan` was made, its opset included: the same preparation names the same layers.
PrepareOptions preparation_of(const Plan& plan);

/// ONNX Runtime has kernels on codes for much that gains no time by them: true where only what gains is quantized. Who
/// names operators or layers has chosen, and gets them all.
bool only_where_faster(const PrecisionOptions& precision);

/// Every layer in the lowest format it can take, exceptions applied. Angles of positions stay in float32
/// (angle_layers.h), unless an exception names them.
/// Errors: Usage for a name that matches no layer (nearest offered), and under "obey" for a layer that cannot take the
/// format asked, saying why.
AssignedFormats assign_formats(const Model& model, const std::vector<Layer>& layers, const PrecisionOptions& precision);

/// Layers that the file itself computes in another float type than float32, which no plan changes, with that type's
/// name: all of a float16 file.
std::map<std::string, std::string> layers_of_other_types(const Model& model, const std::vector<Layer>& layers);

/// One line for people: "int8: inputs of Conv, ConvTranspose, Gemm, MatMul, symmetric per tensor (absolute maximum),
/// ...". `ranges_from`: what is said of a file of ranges in place of the method that was asked for; empty: no file.
std::string scheme_text(const PrecisionOptions& precision, const std::string& ranges_from = {});

}  // namespace vernier
