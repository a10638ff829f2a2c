// The text of `vernier diagnose`, from the answer down to the evidence. Each section is one function.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counts.h"
#include "base/layout.h"
#include "base/text.h"
#include "report/text/alternatives_text.h"
#include "report/text/diagnose_answer.h"
#include "report/text/diagnosis_words.h"
#include "report/text/engine_section.h"
#include "report/text/explanation_text.h"
#include "report/text/figures.h"
#include "report/text/first_screen.h"
#include "report/text/how_sure.h"
#include "report/text/minimum_text.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/outcome.h"
#include "vernier/report/text.h"
#include "vernier/report/typed.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

std::string header_section(const DiagnoseReport& report, const TextOptions& options) {
  std::string data = printable(report.data);
  if (report.random_data) {
    data += "; random inputs show whether the model runs, not how accurate it is";
  } else if (report.cross_fit) {
    data +=
        "; cross-fitted: each half of the samples is measured on a network that the other half calibrated (--no-split: "
        "all samples do both)";
  } else if (calibrated_on_same_samples(report)) {
    data += "; the ranges were calibrated on these same samples";
  }
  const std::string hash = short_hash(report.model_sha256);
  std::string text =
      labelled("Model", printable(report.model_file) + (hash.empty() ? "" : "  (sha256 " + hash + ")"), options.width);
  text += labelled("Data", data, options.width);
  text += labelled("Scheme", scheme_words(printable(report.scheme)), options.width);
  text += labelled("Runner", runner_text(report.runner, report.on_gpu), options.width);
  text += labelled("ONNX Runtime", report.on_gpu ? printable(report.onnxruntime_version) : "", options.width);
  if (report.engine) {
    const char* const how = report.engine->figures.passed == false ? "Missed on" : "Confirmed on";
    text += labelled(how, printable(report.engine->engine) + ", which ran the output model", options.width);
  }
  if (report.requirement) text += labelled("Requirement", requirement_text(*report.requirement), options.width);
  return text;
}

std::string figures_section(const DiagnoseReport& report, const TextOptions& options) {
  std::vector<std::pair<std::string, const RunFigures*>> runs;
  runs.emplace_back("FP32 after preparation", &report.reference);
  if (report.all_high) runs.emplace_back(fmt::format("all kept in {}", format_title(report.high)), &*report.all_high);
  runs.emplace_back("all " + low_text(report), &report.all_low);
  if (report.given) runs.emplace_back("the given file", &*report.given);
  if (report.repaired) runs.emplace_back("repaired, all " + low_text(report), &*report.repaired);
  const char* const last = kOutputModel;
  if (report.final_figures)
    runs.emplace_back(last + std::string(report.in_sample ? ", on held-out samples" : ""), &*report.final_figures);
  if (report.in_sample) runs.emplace_back("the output model, on these samples", &*report.in_sample);
  if (report.engine) runs.emplace_back("on the engine", &report.engine->figures);
  if (report.other_sums) runs.emplace_back(sums_text(report.other_sums->accumulate), &report.other_sums->figures);
  const std::string table = figures_table(runs, options);
  if (table.empty()) return {};
  return heading(report.reference_from_file ? "Figures, compared with the values that the file stores"
                                            : "Figures, compared with the FP32 model",
                 options) +
         table;
}

std::string ranking_section(const DiagnoseReport& report, const TextOptions& options) {
  const bool by_output = is_measured(report.layers, &LayerRow::sensitivity_db);
  if (!by_output && !is_measured(report.layers, &LayerRow::own_sqnr_db)) return {};  // --quick
  const bool mixed = std::any_of(report.layers.begin(), report.layers.end(),
                                 [&](const LayerRow& row) { return row.format != report.layers.front().format; });
  const EventColumns events(report.layers);
  Table table;
  table.column("#", Align::Right);
  table.flexible_column("layer");
  table.flexible_column("operator");
  table.column("format", Align::Left);
  table.column("local dB", Align::Right, "local");
  table.column("propagated dB", Align::Right, "propag.");
  table.column("sensitivity dB", Align::Right, "sens.");
  table.column("share", Align::Right);
  table.stays();
  events.add_headings(table);
  table.column("", Align::Left);
  const std::size_t rows = options.top == 0 ? report.layers.size() : std::min(options.top, report.layers.size());
  bool gaps = false;
  for (std::size_t i = 0; i < rows; ++i) {
    const LayerRow& row = report.layers[i];
    std::vector<std::string> cells{std::to_string(i + 1),
                                   printable(row.name) + (row.graph.empty() ? "" : " in " + printable(row.graph)),
                                   shorten_middle(printable(row.op_type), 18),
                                   mixed ? std::string(format_title(row.format)) : "",
                                   db_text(row.own_sqnr_db),
                                   db_text(row.propagated_db),
                                   by_output ? db_text(row.sensitivity_db) : "",
                                   by_output ? percent_text(row.share) : ""};
    events.add_cells(row, cells);
    gaps = gaps || std::ranges::find(cells, "-") != cells.end();
    cells.emplace_back(row.kept ? "kept" : "");
    table.row(std::move(cells));
  }
  std::string text = heading(fmt::format("Layers{}, {} first", report.repaired ? " after the repairs" : "",
                                         by_output ? "most damaging" : "largest local error"),
                             options) +
                     table.text(options.width, options.whole_names);
  if (rows < report.layers.size()) {
    text += fmt::format("  ... and {} (--top 0 shows all)\n", plural(report.layers.size() - rows, "more layer"));
  }
  std::string legend = kLocalLegend;
  const auto explain = [&](const char* column, const char* words) {
    if (table.shows(column, options.width, options.whole_names)) legend += std::string("; ") + words;
  };
  explain("propagated dB", kPropagatedLegend);
  explain("sensitivity dB", kSensitivityLegend);
  explain("share", kShareLegend);
  if (gaps) legend += "; -: not measured";
  text += wrap(fmt::format("{}. {}", legend, event_legend(report.layers)), options.width, "  ");
  return text;
}

/// At most `count` points, evenly spread over the logarithm of kept layers; both ends stay.
std::vector<CurvePoint> thinned(const std::vector<CurvePoint>& curve, std::size_t count) {
  if (curve.size() <= count) return curve;
  const double last = std::log(static_cast<double>(curve.size()));
  std::vector<CurvePoint> points;
  std::size_t next = 0;  // the first point not yet taken
  for (std::size_t i = 0; i < count; ++i) {
    const double place = std::exp(last * static_cast<double>(i) / static_cast<double>(count - 1)) - 1;
    const auto at = static_cast<std::size_t>(std::lround(place));
    if (at < next) continue;
    points.push_back(curve[at]);
    next = at + 1;
  }
  return points;
}

std::string curve_section(const DiagnoseReport& report, const TextOptions& options) {
  if (report.curve.empty()) return {};
  constexpr std::size_t kCell = 7;
  const std::size_t room = options.width > 12 + 4 * kCell ? (options.width - 12) / kCell : 4;
  std::string kept = fmt::format("  {:<10}", "kept");
  std::string predicted = fmt::format("  {:<10}", "dB");
  std::string measured = fmt::format("  {:<10}", "measured");
  bool any_measured = false;
  for (const CurvePoint& point : thinned(report.curve, room)) {
    kept += fmt::format("{:>{}}", point.kept, kCell);
    predicted += fmt::format("{:>{}}", db_text(point.predicted_sqnr_db), kCell);
    measured += fmt::format("{:>{}}", point.measured_sqnr_db ? db_text(point.measured_sqnr_db) : "", kCell);
    any_measured = any_measured || point.measured_sqnr_db.has_value();
  }
  std::string text = heading("SQNR by number of kept layers, predicted from the sensitivities", options);
  text += kept + "\n" + predicted + "\n";
  if (any_measured) text += measured.substr(0, measured.find_last_not_of(' ') + 1) + "\n";
  return text;
}

std::string certificate_table(const DiagnoseReport& report, const TextOptions& options) {
  const auto& certificate = report.kept->certificate;
  Table table;
  table.flexible_column(report.kept->ladder ? "with" : "without");
  table.column("output", Align::Left);  // of several the one that decides
  table.column("on these samples", Align::Right, "here");
  table.column(certified_figure(report), Align::Right, on_new_samples(report) ? "bound" : "result");
  table.stays();
  table.column("of the allowed error", Align::Right);
  const std::size_t rows = options.top == 0 ? certificate.size() : std::min(options.top, certificate.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const CertificateRow& row = certificate[i];
    const std::string lower = row.lowered_to ? fmt::format(" in {}", format_title(*row.lowered_to)) : "";
    CertificateWords words = certificate_words(report, row);
    table.row({printable(row.layer) + lower, printable(row.output), std::move(words.on_samples),
               std::move(words.result), std::move(words.used)});
  }
  std::string text = table.empty() ? std::string{} : table.text(options.width, options.whole_names);
  if (rows < certificate.size()) {
    text += fmt::format("  ... and {} (--top 0 shows all)\n", plural(certificate.size() - rows, "more layer"));
  }
  return text;
}

/// What each format of a ladder runs, and which layers are above the lowest.
std::string rungs_table(const KeptSetReport& kept, const TextOptions& options) {
  Table table;
  table.column("format", Align::Left);
  table.column("layers", Align::Right);
  table.column("of the multiply-accumulates", Align::Right);
  table.flexible_column("raised to it");
  for (std::size_t i = 0; i < kept.ladder->rungs.size(); ++i) {
    const RungReport& rung = kept.ladder->rungs[i];
    std::vector<std::string> names;
    for (const RaisedLayer& layer : kept.ladder->raised) {
      if (layer.format == rung.format) names.push_back(printable(layer.layer));
    }
    const double share =
        static_cast<double>(rung.macs) / static_cast<double>(std::max<std::int64_t>(1, kept.total_macs));
    table.row({std::string(format_title(rung.format)), std::to_string(rung.layers),
               kept.total_macs > 0 ? percent_text(share) : "", names.empty() ? "" : list_some(names, 4)});
  }
  return table.text(options.width, options.whole_names);
}

std::string kept_section(const DiagnoseReport& report, const TextOptions& options) {
  if (!report.kept || (report.kept->layers.empty() && report.kept->notes.empty())) return {};
  const KeptSetReport& kept = *report.kept;
  if (outcome_of(report) == Outcome::Impossible) {  // all of them, and it does not help
    const std::string notes = notes_text(kept.notes, options, "  note: ");
    return notes.empty() ? notes : "\n" + notes;
  }
  std::string text = kept.ladder ? heading("Formats", options) + rungs_table(kept, options)
                                 : heading(fmt::format("Kept in {}", format_title(report.high)), options);
  constexpr std::size_t kLongCertificate = 8;  // rows; a longer one is for those who ask
  const bool folded = kept.certificate.size() > kLongCertificate && !options.verbose && options.top != 0;
  // The certificate names them all again, each with its evidence.
  if ((folded || kept.certificate.size() < kept.layers.size()) && !kept.ladder) {
    const std::size_t most = options.top == 0 ? kept.layers.size() : options.top;
    std::string names;
    for (std::size_t i = 0; i < std::min(most, kept.layers.size()); ++i) {
      names += (i > 0 ? ", " : "") + shorten_middle(printable(kept.layers[i]), options.width - 4);
    }
    if (kept.layers.size() > most) {
      names += fmt::format(" and {} more (--top 0 shows all)", kept.layers.size() - most);
    }
    text += wrap(names, options.width, "  ");
  }
  if (kept.total_macs > 0 && !kept.ladder) {
    text += wrap(fmt::format("{} of {} multiply-accumulates of one sample ({})", count_text(kept.kept_macs),
                             count_text(kept.total_macs),
                             percent_text(static_cast<double>(kept.kept_macs) / static_cast<double>(kept.total_macs))),
                 options.width, "  ");
  }
  if (report.typed) {
    const TypedReport& typed = *report.typed;
    text += wrap(fmt::format("{}, {}; weights {}", plural(static_cast<std::size_t>(typed.casts), "cast"),
                             pairs_text(typed), weights_text(typed)),
                 options.width, "  ");
  }
  const bool stands = outcome_of(report) != Outcome::FileMisses && outcome_of(report) != Outcome::NotVerified;
  if (kept.certified && stands && kept.certificate.empty() && kept.not_cheaper > 0) {
    text += wrap(fmt::format("certified by cost: dropping a layer adds format boundaries and saves nothing (--cost "
                             "{}), so none was dropped for a test",
                             word_of(kept.cost_unit)),
                 options.width, "  ");
  } else if (kept.certified) {
    const char* const drop = kept.not_cheaper > 0 ? "dropping a layer either saves nothing or"
                             : kept.ladder        ? "lowering any one of these by one format"
                                                  : "dropping any one of these";
    const std::string limit =
        kept.room > 1 ? fmt::format(" for {:.0f} % of the allowed error", 100 / kept.room) : std::string();
    text +=
        wrap(outcome_of(report) == Outcome::FileMisses
                 ? "in the search, dropping any one of these fails, but the result above does not confirm it:"
             : outcome_of(report) == Outcome::NotVerified
                 ? fmt::format("certified 1-minimal in simulation{}: {} fails; tested one by one:", limit, drop)
             : kept.not_cheaper > 0 ? fmt::format("certified by cost: {} fails; tested if it saves:", drop)
                                    : fmt::format("certified 1-minimal{}: {} fails; tested one by one:", limit, drop),
             options.width, "  ");
  } else if (!kept.layers.empty()) {
    text += wrap(kept.ladder ? "not certified: the search ended before it had lowered each raised layer by one format"
                             : "not certified: the search ended before it had dropped each kept layer once",
                 options.width, "  ");
  }
  if (folded && kept.certified) {
    // The last line ends with a colon, as the table follows it otherwise.
    text.resize(text.find_last_not_of(":\n") + 1);
    text += " (-v lists each result)\n";
  } else if (!folded) {
    text += certificate_table(report, options);
  }
  if (const std::string minimum = minimum_text(report); !minimum.empty()) text += wrap(minimum, options.width, "  ");
  text += notes_text(kept.notes, options, "  note: ");
  return text;
}

std::string final_section(const DiagnoseReport& report, const TextOptions& options) {
  if (!report.final_figures) return {};
  const auto model = report.files.find("model");
  const std::string figure = figure_text(*report.final_figures, report.requirement);
  std::string text =
      fmt::format("verify of {}: {}",
                  model == report.files.end() ? std::string(kOutputModel) + ", not written" : printable(model->second),
                  report.in_sample ? fmt::format("{} on these samples, {} on held-out ones",
                                                 figure_text(*report.in_sample, report.requirement), figure)
                                   : figure);
  if (report.reference_from_file) {
    text += " compared with the values that the given file stores";
  } else if (report.requirement) {
    text +=
        fmt::format(", {} is {}{}", required_text(*report.final_figures, *report.requirement),
                    report.final_figures->passed == true ? "met" : "missed", nonfinite_clause(*report.final_figures));
  }
  const Paint paint = report.final_figures->passed == false ? Paint::Bad : Paint::Bold;
  text = "\n" + painted(wrap(text, options.width), paint, options.color);
  if (report.typed) {
    text += notes_text(report.typed->notes, options, "  note: ");
  }
  return text;
}

std::string latency_section(const DiagnoseReport& report, const TextOptions& options) {
  if (!report.latency) return {};
  const LatencyReport& latency = *report.latency;
  Table table;
  table.column("", Align::Left);
  table.column("ms", Align::Right);
  table.column("speed", Align::Right);
  const auto add = [&](const std::string& label, const std::optional<double>& ms) {
    if (!ms) return;
    const bool compared = latency.float_ms && *ms > 0;
    table.row({label, ms_text(*ms), compared ? fmt::format("{:.2f}x", *latency.float_ms / *ms) : ""});
  };
  add("FP32", latency.float_ms);
  add("all " + low_text(report), latency.low_ms);
  add(kOutputModel, latency.repaired_ms);
  std::string text = heading(
      fmt::format("Latency of one sample on {}, median",
                  latency.engine.empty()
                      ? "ONNX Runtime, " + plural(static_cast<std::size_t>(std::max(latency.threads, 0)), "thread")
                      : printable(latency.engine)),
      options);
  if (!table.empty()) text += table.text(options.width, options.whole_names);
  if (!latency.note.empty()) text += wrap(told(latency.note), options.width, "  ");
  return text;
}

std::string file_meaning(const std::string& what) {
  if (what == "model") return "strongly typed ONNX model";
  if (what == "float") return "FP32 model after the repairs; plan.json names its layers";
  if (what == "plan") return "plan: the format of every layer";
  if (what == "report") return "report with every figure";
  if (what == "page") return "report as a page for browsers";
  if (what == "deploy") return "commands for each engine";
  if (what == "qat") return "configuration for training with ModelOpt";
  return printable(what);
}

std::string closing_section(const DiagnoseReport& report, const TextOptions& options) {
  std::string text = "\n";
  std::string time = time_text(report.phases, options.verbose);
  if (report.kept && report.kept->evaluations > 0) {
    time += fmt::format("{}{} of all samples in the search", time.empty() ? "" : "; ",
                        plural(report.kept->evaluations, "evaluation"));
    if (report.kept->recalled > 0) time += fmt::format(", {} of them from the journal", report.kept->recalled);
  }
  text += labelled("Time", time, options.width);
  // What people open comes first; anything else follows by name.
  std::vector<std::string> order{"model", "plan", "report", "page", "deploy"};
  for (const auto& [what, path] : report.files) {
    if (std::find(order.begin(), order.end(), what) == order.end()) order.push_back(what);
  }
  std::string label = "Written";
  for (const std::string& what : order) {
    const auto file = report.files.find(what);
    if (file == report.files.end()) continue;
    text += labelled(label, fmt::format("{}, the {}", printable(file->second), file_meaning(what)), options.width);
    label.clear();
  }
  return text == "\n" ? std::string{} : text;
}

}  // namespace

std::string report_to_text(const DiagnoseReport& report, const TextOptions& options) {
  std::string text = first_screen(report, answer_of(report), options);
  text += alternatives_section(report, options);
  text += header_section(report, options);
  text += figures_section(report, options);
  text += ranking_section(report, options);
  text += explanation_section(report, options);
  if (!report.requirement) text += curve_section(report, options);
  text += kept_section(report, options);
  text += final_section(report, options);
  text += latency_section(report, options);
  if (report.compiled) text += "\n" + engine_section(*report.compiled, options);
  text += remarks(report.warnings, report.notes, options);
  text += closing_section(report, options);
  return text;
}

}  // namespace vernier
