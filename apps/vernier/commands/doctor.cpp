#include "vernier/doctor.h"

#include <memory>
#include <string>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"
#include "vernier/error.h"

namespace vernier::cli {

Command add_doctor(CLI::App& root) {
  auto messages = std::make_shared<MessageGroup>();
  auto python = std::make_shared<std::string>("python3");
  auto json = std::make_shared<bool>(false);
  CLI::App& app = add_command(root, "doctor", "Print the engines found on this machine, and where vernier looked");
  add_value(app, "--python", *python, "PROGRAM", "Python to look for engines in (default: python3)");
  add_flag(app, "--json", *json, "Print the same as JSON, and nothing else, on stdout").group("Output");
  add_message_options(app, *messages);
  add_footer(app, "Exit code: 0 everything required was found; 4 something is missing");

  return {&app, messages.get(), [messages, python, json](Console& console) {
            const DoctorReport report = doctor(*python);
            print_result(console, *json ? report_to_json(report) : report_to_text(report));
            return report.healthy() ? 0 : static_cast<int>(ErrorKind::Backend);
          }};
}

}  // namespace vernier::cli
