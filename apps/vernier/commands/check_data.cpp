
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
  CLI::App& app = add_command(command_group(root, "check", "Check models, data and saved results"), "data",
                              "Check whether inputs look like those of training: channels, range, mean, layout. With "
                              "labels, also check how outputs are read: classes, boxes, scores");
  add_argument(app, "MODEL", line->model, "ONNX file, float");
  line->task.add(app, /*labels_alone=*/true);
  add_values(app, "--outputs", line->outputs, "NAME",
             "Outputs that the task reads, in this order (default: all outputs of the model)")
      .group("Task");
  line->data.add(app, "Samples as the network would get them; the first 16 are checked, 64 with labels, or --samples");
  line->result.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Inputs are checked by the labels of a classifier. Without labels, statistics of training in the file "
             "decide, or the network's confidence.\nExample: vernier check data model.onnx --data photos/ --image "
             "short-crop:256,224 --labels labels.npy\nExit code: 0 no change fits better; 1 a change fits better, or "
             "inputs differ from training; 2 usage; 3 input; 4 backend; 70 internal error; 130 interrupted");
  return {&app, &line->messages,
          [line](Console& console) {
            for (const std::string& text : line->data.without_effect()) console.warning(text);
            CheckDataOptions options;
            options.model = line->model;
            if (line->task.given()) options.task = line->task.values();
            options.measure = line->data.values();
            options.measure.outputs = line->outputs;
            const TextOptions text = line->result.values(console);
            const CheckDataReport report = check_data(options, console.sinks());
            print_result(console, line->result.json ? report_to_json(report) : report_to_text(report, text));
            return report.better || report.unlike_training || report.outputs.better ? 1 : 0;
          },
          ignored};
}

}  // namespace vernier::cli
