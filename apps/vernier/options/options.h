// The options that several subcommands share (docs/contract.md, 1, 4, 5): added to a CLI11 subcommand as groups, kept
// as the text that was typed, then turned into the values of vernier/jobs.h by `values()`, which checks everything
// there is to check without a model. All `values()` throw Error{Usage}.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "options/rows.h"
#include "options/syntax.h"
#include "vernier/arithmetic.h"
#include "vernier/format.h"
#include "vernier/measure.h"
#include "vernier/precision.h"
#include "vernier/report/text.h"
#include "vernier/requirement.h"
#include "vernier/samples.h"
#include "vernier/target.h"

namespace vernier::cli {

class Console;

/// How the target computes within a layer. Errors: Usage.
Arithmetic arithmetic_of(const Texts& texts, Target target);

/// Precision options as typed.
struct PrecisionText {
  Texts texts;
  std::vector<Format> flags;  // --int8 ...

  /// True when a low format was asked for.
  bool any_low() const { return !flags.empty() || texts.given("--low"); }
  bool any_script() const { return texts.given("--trt-network-postprocess-script"); }
  PrecisionOptions values() const;
};

/// Adds the options; each occurrence goes, as it is parsed, into what `into` returns at that moment. `method`: the
/// names of the option that says how ranges are chosen.
void add_precision_options(CLI::App& app, const std::function<PrecisionText&()>& into, const char* method = nullptr);

/// For commands with one precision.
class PrecisionGroup {
 public:
  void add(CLI::App& app, const char* method = nullptr) {
    add_precision_options(
        app, [this]() -> PrecisionText& { return text_; }, method);
  }
  /// As if its flag were typed.
  void add_low(Format format) { text_.flags.push_back(format); }
  PrecisionOptions values() const { return text_.values(); }
  bool any_low() const { return text_.any_low(); }
  bool any_script() const { return text_.any_script(); }

 private:
  PrecisionText text_;
};

class RequirementGroup {
 public:
  void add(CLI::App& app);
  /// Sets the requirement, absent when none was given, the axes of classes, and whether parts of outputs are judged.
  void read_into(MeasureOptions& options) const;

 private:
  std::optional<Requirement> requirement() const;
  Texts texts_;
};

class DataGroup {
 public:
  /// `data_help` says what the samples are used for.
  void add(CLI::App& app, const std::string& data_help);
  /// For a command that runs one sample again and again: --iterations counts its runs, nothing is carried, and
  /// --threads are its own.
  void add_to_time(CLI::App& app, const std::string& data_help);
  /// --calibration-data, for commands that calibrate and measure, and --calibration-cache.
  void add_calibration(CLI::App& app);
  /// --calibration-cache alone, for commands whose samples are there to calibrate.
  void add_calibration_cache(CLI::App& app);
  /// --batch, for commands that run many samples through one network.
  void add_batch(CLI::App& app);
  /// --no-cache, for commands that only calibrate.
  void add_no_cache(CLI::App& app);
  /// Everything of MeasureOptions but the requirement and the outputs.
  MeasureOptions values() const;
  /// Options that were given and do nothing beside the others, in words. `scripts`: other options name scripts.
  std::vector<std::string> without_effect(bool scripts = false) const;

 private:
  void add(CLI::App& app, const std::string& data_help, bool timed);
  SourceOptions source() const;
  /// Where the samples come from, by whichever option; empty: random data.
  std::vector<std::string> locations() const;
  /// The option that says so: "--data".
  std::string location_option() const;
  std::size_t limit() const;
  void check_one_source() const;

  Texts texts_;
};

/// -v -q --log-file: how much is said on stderr.
struct MessageGroup {
  int verbose = 0;
  int quiet = 0;
  bool print_command = false;
  std::string log_file;
  void add(CLI::App& app);
};

/// --json --top: what goes to stdout.
struct ResultGroup {
  bool json = false;
  std::string top = "15";
  void add(CLI::App& app);
  TextOptions values(const Console& console) const;
};

/// Width and colour from the terminal; in files and pipes names of up to 64 columns stay whole. The console outlives
/// them.
TextOptions text_options(const Console& console);

/// Fails now rather than after minutes of measuring when a folder or file could not be written.
/// Errors: Input, with the system's reason.
void require_writable_folder(const std::filesystem::path& folder);
void require_writable_file(const std::filesystem::path& file);

}  // namespace vernier::cli
