#include "jobs/debug/lost_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "analysis/beside_known.h"
#include "analysis/figures.h"
#include "analysis/output_store.h"
#include "base/text.h"
#include "jobs/debug/pair_reasons.h"
#include "numerics/grid.h"
#include "numerics/metrics.h"
#include "vernier/format.h"

namespace vernier {
namespace {

constexpr std::size_t kMostPairs = 32;
constexpr double kDamagedOutputDb = 30;
constexpr double kShareOfNoise = 0.25;

/// What well chosen scales leave of ordinary values, less 10 dB.
double lost_below(Format format) {
  if (bits_of(format) == 4) return 8;
  return format == Format::Float8E5M2 ? 12 : 20;
}

using Outputs = std::map<std::string, OutputStats>;

/// The output that `alone` damages most, among those of which it makes a good part of the noise in `all`; null: none.
const std::pair<const std::string, OutputStats>* damaged(const Outputs& alone, const Outputs& all) {
  const std::pair<const std::string, OutputStats>* worst = nullptr;
  for (const auto& output : alone) {
    const double noise = noise_of_db(sqnr_db(output.second.pooled));
    const double noise_of_all = noise_of_db(sqnr_db(all.at(output.first).pooled));
    if (noise < noise_of_db(kDamagedOutputDb) || noise < kShareOfNoise * noise_of_all) continue;
    if (worst == nullptr || sqnr_db(output.second.pooled) < sqnr_db(worst->second.pooled)) worst = &output;
  }
  return worst;
}

}  // namespace

std::vector<FoundDefect> find_lost_pairs(const Subject& subject, const SimulatedFile& file, const FloatValues& values,
                                         const std::vector<GridLoss>& losses, const std::vector<QuantizerLoss>& rows,
                                         const std::set<std::string>& skipped) {
  std::vector<std::pair<double, std::size_t>> lossy;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (losses[i].count == 0 || skipped.contains(file.quantized[i].tensor)) continue;
    const QuantizerLoss own = with_loss(rows[i], file.quantized[i].params, losses[i]);
    if (!own.sqnr_db || *own.sqnr_db >= lost_below(own.format)) continue;
    lossy.emplace_back(*own.sqnr_db, i);
  }
  if (lossy.empty()) return {};
  std::ranges::sort(lossy);
  if (lossy.size() > kMostPairs) lossy.resize(kMostPairs);
  const OutputStore known = outputs_of_float(subject);
  const auto outputs = [&](Model model) { return run_beside_known(subject, std::move(model), known, {}).outputs; };
  const Outputs all = outputs(file.model);
  std::map<std::size_t, FoundDefect> found;  // in graph order
  for (const auto& [db, pair] : lossy) {
    const auto stays = [pair = pair](std::size_t i) { return i == pair; };
    const Outputs alone = outputs(with_float_values(file, values, stays));
    const auto* output = damaged(alone, all);
    if (output == nullptr) continue;
    const QuantizerLoss own = with_loss(rows[pair], file.quantized[pair].params, losses[pair]);
    const PairReason reason = reason_of_loss(own);
    found.emplace(pair,
                  FoundDefect{"lost-pair", own.quantizer,
                              fmt::format("'{}' keeps {:.1f} dB: {}. With all else exact, output '{}' is at {:.1f} dB",
                                          printable(own.tensor), db, reason.why, printable(output->first),
                                          sqnr_db(output->second.pooled)),
                              reason.cure});
  }
  std::vector<FoundDefect> defects;
  for (auto& [pair, defect] : found) defects.push_back(std::move(defect));
  return defects;
}

}  // namespace vernier
