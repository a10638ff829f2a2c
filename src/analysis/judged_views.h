// Outputs that are no float32 are judged by the float values behind them:
//   - labels (integers): by the scores that an ArgMax picked them from, whose top-1 agreement is that of the labels;
//   - codes that a QuantizeLinear gives out: by the values that they stand for;
//   - float16, bfloat16 and float64: as they are, read as float32.
// A model that is measured gives out these under the output's own name. Behind all of them it gives out the tensors in
// front of what picks (picked_outputs.h), and the parts of outputs that are judged by themselves (output_part.h). All
// of it is put back before the model is written.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/class_axis.h"
#include "analysis/output_part.h"
#include "analysis/picked_outputs.h"
#include "model/layers.h"
#include "model/model.h"
#include "vernier/note.h"
#include "vernier/tensor.h"

namespace vernier {

struct JudgedView {
  std::string output;
  onnx::ValueInfoProto given;               // the output as the file has it
  std::string given_tensor;                 // what its tensor is called meanwhile
  std::string scores;                       // of labels: what the ArgMax reads; empty: no labels
  std::optional<ClassAxis> axis;            // of labels: along which the ArgMax picks
  std::optional<OutputPart> part = {};      // `output` is this part of another
  std::optional<TensorBehind> behind = {};  // `output` is this tensor

  /// The file does not give it out.
  bool added() const { return part || behind; }
};

/// Changes the outputs of `model` that are no float32 and that something float stands behind, but for those in `leave`.
/// Labels whose scores are an output that is judged anyway stay as they are.
std::vector<JudgedView> judge_as_floats(Model& model, const std::set<std::string>& leave = {});

/// Lets `model` give out `parts`, each behind its other outputs. Their outputs are float32.
std::vector<JudgedView> judge_parts(Model& model, const std::vector<OutputPart>& parts);

/// Lets `model` give out fronts and picks, behind its other outputs.
std::vector<JudgedView> judge_picked(Model& model, const PickedOutputs& picked);

/// The float32 layers of a model that is measured (layers.h): what gives out its parts is none.
std::vector<Layer> measured_layers(const Model& model, std::vector<std::string>* others = nullptr);

/// What judge_as_floats(), judge_picked() and judge_parts() did, to another model of the same network. Errors: Input
/// when nothing float stands behind one of them there, or it lacks a tensor in front of what picks.
void judge_alike(Model& model, const std::vector<JudgedView>& views);

/// Undoes judge_as_floats, judge_picked, judge_parts and judge_alike.
void give_back_outputs(Model& model, const std::vector<JudgedView>& views);

/// That the output is judged by what its ArgMax reads, or by its dequantized values; nothing for others.
std::optional<Note> note_of(const JudgedView& view);

/// Outputs that no figure judges, of a model that judge_as_floats() has changed; but for those in `leave` and labels
/// whose scores are judged.
std::vector<Note> notes_of_unjudged(const Model& model, const std::set<std::string>& leave);

/// Why nothing float stands behind an output, as "int64 of NonMaxSuppression".
std::string not_judged_text(const Model& model, const InputInfo& output);

/// Labels again, for those who want outputs as the file gives them: of equal scores the first. Others are handed on.
Tensor as_given(const JudgedView& view, const Tensor& judged);

}  // namespace vernier
