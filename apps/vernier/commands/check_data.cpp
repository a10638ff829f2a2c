
#include "vernier/check_data.h"

#include <memory>
#include <string>

#include "commands/report_commands.h"
#include "console/console.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/report/check_data.h"
#include "vernier/report/text.h"

namespace vernier::cli {
namespace {

struct CheckDataLine {
  std::string model, labels, label_offset = "0";
  DataGroup data;
  MessageGroup messages;
  ResultGroup result;
};

}  // namespace

Command add_check_data(CLI::App& root) {
  auto line = std::make_shared<CheckDataLine>();
  CLI::App& app = add_command(command_group(root, "check", "Check a model or results"), "data",
                              "Do the inputs look like what the network was trained on? "
                              "Order of channels, range, mean and deviation, layout");
  add_argument(app, "MODEL", line->model, "ONNX file, float");
  add_value(app, "--labels", line->labels, "FILE",
            "Of a classifier: .npy or text, one a sample; they decide then (default: statistics that training left in "
            "the file, else the network's confidence)")
      .group("Labels");
  add_value(app, "--label-offset", line->label_offset, "N", "Added to every label (default: 0)").group("Labels");
  line->data.add(app, "Samples as they would be fed; 16 are looked at, 64 with labels, unless --samples says more");
  line->result.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(
      app,
      "Example: vernier check data model.onnx --data photos/ --image short-crop:256,224 --labels labels.npy\n"
      "Exit code: 0 nothing surely fits better; 1 a change surely fits better, or the inputs are unlike those of "
      "training; 2 usage; "
      "3 input; 4 backend; 70 our fault; 130 interrupted");
  return {&app, &line->messages,
          [line](Console& console) {
            for (const std::string& text : line->data.without_effect()) console.warning(text);
            CheckDataOptions options;
            options.model = line->model;
            options.labels = line->labels;
            options.label_offset = static_cast<std::int64_t>(parse_number("--label-offset", line->label_offset));
            options.measure = line->data.values();
            const TextOptions text = line->result.values();
            const CheckDataReport report = check_data(options, console.sinks());
            print_result(console, line->result.json ? report_to_json(report) : report_to_text(report, text));
            return report.better || report.unlike_training ? 1 : 0;
          },
          ignored};
}

}  // namespace vernier::cli
