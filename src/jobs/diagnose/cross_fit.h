// Figures on samples that a network has not seen: each half of the samples is judged by the network that the other half
// taught. Source: M. Stone, "Cross-validatory choice and assessment of statistical predictions", Journal of the Royal
// Statistical Society B 36 (1974), with two parts.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/reference.h"
#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "analysis/trials.h"
#include "jobs/common/halves.h"
#include "jobs/diagnose/teach.h"
#include "jobs/diagnose/yardstick.h"
#include "plan/lower_simulated.h"
#include "plan/plan.h"
#include "vernier/format.h"

namespace vernier {

/// A network as one half of the samples taught it.
struct TaughtHalf {
  std::vector<std::size_t> unseen;     // the other half, which judges it
  std::unique_ptr<Subject> rewritten;  // with its repairs in the float model; null: the network as it is
  std::map<std::string, QuantParams> tensors;
  std::map<std::string, std::map<Format, QuantParams>> other_grids;
  std::map<std::string, RepairedConstant> constants;
  std::unique_ptr<RoundedWeights> weights = std::make_unique<RoundedWeights>();
};

class CrossFit {
 public:
  /// Teaches both halves the scales of everything low. Cost: a reference run over at most 512 samples of each half.
  CrossFit(const Teacher& teacher, const Subject& subject);
  /// Of halves that were taught elsewhere.
  explicit CrossFit(std::array<TaughtHalf, 2> halves);

  /// The two networks, of `subject` as it is or with their repairs, and the samples that judge them. It must outlive
  /// them.
  std::vector<JudgedNetwork> networks(const Subject& subject, const Plan& plan);

 private:
  std::array<TaughtHalf, 2> halves_;
};

/// Enough to learn ranges from: they do not gain from more.
inline constexpr std::size_t kMostToTeach = 512;

}  // namespace vernier
