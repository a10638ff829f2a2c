// Two saved runs, output by output: every iteration is read once from both, folded into sums, and forgotten.

#include "vernier/data_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/parallel.h"
#include "core/text.h"
#include "vernier/error.h"
#include "vernier/runs.h"
#include "verdict/elements.h"

namespace vernier {
namespace {

constexpr double kNearZero = 1e-6;   // of a tensor's largest magnitude
constexpr double kHopelessDb = 10;   // an output this bad holds little of its signal
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Sums over pairs of values, in double.
struct Sums {
  double ref_energy = 0, got_energy = 0, dot = 0, error_energy = 0, error_sum = 0, max_abs = 0, max_rel = 0;
  std::int64_t finite = 0, near_zero = 0, nonfinite = 0, broken = 0;

  Sums& operator+=(const Sums& other) {
    ref_energy += other.ref_energy;
    got_energy += other.got_energy;
    dot += other.dot;
    error_energy += other.error_energy;
    error_sum += other.error_sum;
    max_abs = std::max(max_abs, other.max_abs);
    max_rel = std::max(max_rel, other.max_rel);
    finite += other.finite;
    near_zero += other.near_zero;
    nonfinite += other.nonfinite;
    broken += other.broken;
    return *this;
  }
};

template <class Visit>
void for_each_block(const Tensor& tensor, std::vector<double>& room, const Visit& visit) {
  for (std::int64_t first = 0; first < tensor.count(); first += static_cast<std::int64_t>(kBlock)) {
    const auto n = std::min(static_cast<std::size_t>(tensor.count() - first), kBlock);
    visit(first, read_block<double>(tensor, first, n, room));
  }
}

Sums sums_of(const Tensor& ref, const Tensor& got) {
  std::vector<double> ref_room, got_room;
  double largest = 0;
  for_each_block(ref, ref_room, [&](std::int64_t, std::span<const double> values) {
    for (const double value : values) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
  });
  Sums sums;
  for_each_block(ref, ref_room, [&](std::int64_t first, std::span<const double> refs) {
    const std::span<const double> gots = read_block<double>(got, first, refs.size(), got_room);
    for (std::size_t i = 0; i < refs.size(); ++i) {
      const double r = refs[i];
      const double g = gots[i];
      if (!std::isfinite(r) || !std::isfinite(g)) {
        ++sums.nonfinite;
        sums.broken += std::isfinite(r) ? 1 : 0;
        continue;
      }
      const double error = std::abs(g - r);
      ++sums.finite;
      sums.ref_energy += r * r;
      sums.got_energy += g * g;
      sums.dot += r * g;
      sums.error_energy += error * error;
      sums.error_sum += error;
      sums.max_abs = std::max(sums.max_abs, error);
      if (std::abs(r) < kNearZero * largest || r == 0) {
        ++sums.near_zero;
      } else {
        sums.max_rel = std::max(sums.max_rel, error / std::abs(r));
      }
    }
  });
  return sums;
}

double sqnr_db_of(const Sums& sums) {
  if (sums.broken > 0) return -kInfinity;
  if (sums.error_energy == 0) return kInfinity;
  return 10 * std::log10(sums.ref_energy / sums.error_energy);  // -inf when the reference is all zero
}

struct Output {
  DiffRow row;
  Sums sums;
  double worst_db = kInfinity;
  std::string refusal;  // why it is not compared
};

void fold(Output& output, std::size_t iteration, const Tensor& ref, const Sums& sums) {
  output.row.dtype = ref.dtype();
  output.row.shape = ref.shape();
  output.sums += sums;
  const double db = sqnr_db_of(sums);
  if (iteration == 0 || db < output.worst_db) {
    output.worst_db = db;
    output.row.worst_iteration = iteration;
  }
}

DiffRow finished(const Output& output) {
  DiffRow row = output.row;
  const Sums& sums = output.sums;
  row.values = sums.finite;
  row.max_abs = sums.max_abs;
  row.max_rel = sums.max_rel;
  row.near_zero = sums.near_zero;
  row.nonfinite = sums.nonfinite;
  row.broken = sums.broken;
  const auto count = static_cast<double>(std::max<std::int64_t>(sums.finite, 1));
  row.mean_abs = sums.error_sum / count;
  row.mse = sums.error_energy / count;
  row.sqnr_db = sqnr_db_of(sums);
  const double norms = std::sqrt(sums.ref_energy) * std::sqrt(sums.got_energy);
  row.cosine = norms > 0 ? std::clamp(sums.dot / norms, -1.0, 1.0)
               : sums.ref_energy == 0 && sums.got_energy == 0 ? 1 : 0;
  return row;
}

const Tensor* find(const Iteration& iteration, const std::string& name) {
  for (const NamedTensor& output : iteration.outputs) {
    if (output.name == name) return &output.tensor;
  }
  return nullptr;
}

/// The run to compare, and a warning when the file holds others.
std::unique_ptr<Run> last_run(const std::filesystem::path& path, std::vector<std::string>& warnings) {
  std::vector<std::unique_ptr<Run>> runs = open_runs(path);
  if (runs.size() > 1) {
    warnings.push_back(fmt::format("{} holds {}: the last one, {}, is compared", printable(path.string()),
                                   plural(runs.size(), "run"), printable(runs.back()->name())));
  }
  return std::move(runs.back());
}

}  // namespace

DiffReport data_diff(const DiffOptions& options, const JobSinks& sinks) {
  DiffReport report;
  report.command = options.command;
  report.reference_file = options.reference.string();
  report.tested_file = options.tested.string();
  report.metric = diff_metric_name(options.metric);
  report.threshold = options.threshold;
  const std::unique_ptr<Run> reference = last_run(options.reference, report.warnings);
  const std::unique_ptr<Run> tested = last_run(options.tested, report.warnings);
  for (const std::string& text : report.warnings) {
    if (sinks.warning) sinks.warning(text);
  }
  report.reference_run = reference->name();
  report.tested_run = tested->name();
  report.iterations = reference->size();
  if (reference->size() != tested->size()) {
    throw Error(ErrorKind::Input,
                fmt::format("{} has {}, {} has {}", printable(report.reference_file),
                            plural(reference->size(), "iteration"), printable(report.tested_file),
                            plural(tested->size(), "iteration")),
                "save both runs with the same samples");
  }

  std::map<std::string, Output> outputs;
  std::vector<std::string> order;
  std::vector<std::string> only_tested;
  struct Step {
    Iteration ref, got;
    std::vector<Sums> sums;  // of ref.outputs
  };
  parallel_ordered(
      reference->size(), usable_cores(),
      [&](std::size_t i) {
        Step step{reference->at(i), tested->at(i), {}};
        for (const NamedTensor& output : step.ref.outputs) {
          const Tensor* other = find(step.got, output.name);
          const bool alike = other != nullptr && other->shape() == output.tensor.shape();
          step.sums.push_back(alike ? sums_of(output.tensor, *other) : Sums{});
        }
        return step;
      },
      [&](std::size_t i, Step step) {
        if (sinks.interrupted && sinks.interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
        if (sinks.progress) sinks.progress("compare", i + 1, reference->size());
        for (std::size_t k = 0; k < step.ref.outputs.size(); ++k) {
          const auto& [name, ref] = step.ref.outputs[k];
          if (!outputs.contains(name)) order.push_back(name);
          Output& output = outputs[name];
          output.row.name = name;
          const Tensor* got = find(step.got, name);
          if (got == nullptr) {
            output.refusal = "is not in " + report.tested_file;
          } else if (got->shape() != ref.shape()) {
            output.refusal = fmt::format("iteration {}: shape {} against {}", i, shape_text(ref.shape()),
                                         shape_text(got->shape()));
          } else {
            fold(output, i, ref, step.sums[k]);
          }
        }
        if (i == 0) {
          for (const NamedTensor& output : step.got.outputs) {
            if (find(step.ref, output.name) == nullptr) only_tested.push_back(output.name);
          }
        }
        return true;
      });

  for (const std::string& name : order) {
    const Output& output = outputs.at(name);
    if (!output.refusal.empty()) {
      report.not_compared.push_back(fmt::format("{}: {}", name, output.refusal));
      continue;
    }
    report.rows.push_back(finished(output));
  }
  for (const std::string& name : only_tested) {
    report.not_compared.push_back(fmt::format("{}: is not in {}", name, report.reference_file));
  }
  if (report.rows.empty()) {
    throw Error(ErrorKind::Input,
                fmt::format("{} and {} have no output in common", printable(report.reference_file),
                            printable(report.tested_file)),
                "save all tensors of both with: vernier run MODEL ... --onnx-outputs mark all --save-outputs FILE");
  }

  const auto badness = [&](const DiffRow& row) {
    const double value = row.value(options.metric);
    if (row.broken > 0 || std::isnan(value)) return kInfinity;
    return larger_is_better(options.metric) ? -value : value;
  };
  std::stable_sort(report.rows.begin(), report.rows.end(),
                   [&](const DiffRow& a, const DiffRow& b) { return badness(a) > badness(b); });
  if (options.threshold) {
    const double limit = larger_is_better(options.metric) ? -*options.threshold : *options.threshold;
    for (DiffRow& row : report.rows) row.beyond = badness(row) > limit;
    report.passed = std::none_of(report.rows.begin(), report.rows.end(), [](const DiffRow& row) { return row.beyond; });
  }
  report.all_bad =
      report.rows.size() > 1 && std::all_of(report.rows.begin(), report.rows.end(), [&](const DiffRow& row) {
        return options.threshold ? row.beyond && row.sqnr_db < 2 * kHopelessDb : row.sqnr_db < kHopelessDb;
      });
  return report;
}

}  // namespace vernier
