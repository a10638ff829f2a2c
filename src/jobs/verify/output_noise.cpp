#include "jobs/verify/output_noise.h"

#include <limits>
#include <utility>

#include "analysis/beside_known.h"
#include "analysis/figures.h"
#include "model/graph_edit.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

Note not_examined_note(std::size_t examined, std::size_t samples) {
  return {"samples-not-examined", {{"examined", examined}, {"samples", samples}}};
}

OutputNoise::OutputNoise(const Subject& subject, const Model& file, std::size_t most, std::vector<std::size_t> telling)
    : file_(file), few_(subject, most, std::move(telling)), subject_(subject) {
  subject_.samples = &few_;
  subject_.ranks = nullptr;
}

double OutputNoise::of(Model model) {
  try {
    if (!known_) known_.emplace(outputs_of_float(subject_));
    return noise_share(run_beside_known(subject_, std::move(model), *known_).outputs);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    return kInfinite;
  }
}

double OutputNoise::left_in(Model changed) {
  if (!of_file_) of_file_ = of(file_);
  const double with = of(std::move(changed));
  if (with == *of_file_) return 1;
  return *of_file_ > 0 ? with / *of_file_ : kInfinite;
}

std::optional<double> OutputNoise::left_with(const std::string& constant, const Tensor& values) {
  Model changed = file_;
  onnx::GraphProto* owner = owner_of_initializer(changed, constant);
  if (owner == nullptr) return std::nullopt;
  set_initializer(changed, *owner, constant, values);
  return left_in(std::move(changed));
}

}  // namespace vernier
