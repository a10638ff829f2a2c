// The beginning of the text of `vernier diagnose`. It answers four questions in order: is it good enough, what breaks
// it, why, what to do. In 80 columns all four fit on a screen of 24 lines. The page has the same parts in the same
// order.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/text/diagnose_answer.h"
#include "report/text/explanation_text.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/text.h"

namespace vernier {

/// The layers that do most of the damage, three at most. Empty if shares were not measured, and of a repaired network
/// that meets the requirement.
struct MainDamage {
  std::vector<const LayerRow*> layers;
  std::size_t others = 0;
  double share_of_others = 0;
  std::string of;  // "After the repairs", "In the simulation" if an engine does most of the damage; empty: all of it
};
MainDamage main_damage(const DiagnoseReport& report);

/// "the other 50 layers"
std::string others_text(const MainDamage& damage);

/// The causes that explain most of the damage, two at most. Empty if nothing has to be explained.
std::vector<CauseGroup> main_causes(const DiagnoseReport& report);

/// The sentence of the group's worst layer, what repaired it, and how many layers share the cause.
std::string cause_sentence(const CauseGroup& group);

std::string first_screen(const DiagnoseReport& report, const Answer& answer, const TextOptions& options);

}  // namespace vernier
