
#include "vernier/check_data.h"

#include <memory>
#include <string>
#include <vector>

#include "commands/report_commands.h"
#include "console/console.h"
#include "options/options.h"
#include "options/task_group.h"
#include "vernier/report/check_data.h"
#include "vernier/report/text.h"

namespace vernier::cli {
namespace {

struct CheckDataLine {
  std::string model;
  std::vector<std::string> outputs;
  TaskGroup task;
  DataGroup data;
  MessageGroup messages;
  ResultGroup result;
};

}  // namespace

Command add_check_data(CLI::App& root) {
  auto line = std::make_shared<CheckDataLine>();
  CLI::App& app = add_command(command_group(root, "check", "Check a model or results"), "data",
                              "Are the inputs what the network was trained on, and are its outputs read rightly? "
                              "Order of channels, range, mean and deviation, layout; labels, boxes, scores");
  add_argument(app, "MODEL", line->model, "ONNX file, float");
  line->task.add(app, /*labels_alone=*/true);
  add_values(app, "--outputs", line->outputs, "NAME",
             "Outputs that the task looks at, in this order (default: all outputs of the model)")
      .group("Task");
  line->data.add(app, "Samples as they would be fed; 16 are looked at, 64 with labels, unless --samples says more");
  line->result.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(
      app,
      "Labels of a classifier decide about its inputs, too; without them statistics that training left in the file do, "
      "or else the network's confidence.\n"
      "Example: vernier check data model.onnx --data photos/ --image short-crop:256,224 --labels labels.npy\n"
      "Exit code: 0 nothing surely fits better; 1 a change surely fits better, or the inputs are unlike those of "
      "training; 2 usage; "
      "3 input; 4 backend; 70 our fault; 130 interrupted");
  return {&app, &line->messages,
          [line](Console& console) {
            for (const std::string& text : line->data.without_effect()) console.warning(text);
            CheckDataOptions options;
            options.model = line->model;
            if (line->task.given()) options.task = line->task.values();
            options.measure = line->data.values();
            options.measure.outputs = line->outputs;
            const TextOptions text = line->result.values();
            const CheckDataReport report = check_data(options, console.sinks());
            print_result(console, line->result.json ? report_to_json(report) : report_to_text(report, text));
            return report.better || report.unlike_training || report.outputs.better ? 1 : 0;
          },
          ignored};
}

}  // namespace vernier::cli
