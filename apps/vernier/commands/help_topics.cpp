// `vernier help accuracy`: which command answers which question, in the order in which they are asked.
#include <memory>

#include "commands/commands.h"
#include "console/console.h"
#include "options/options.h"

namespace vernier::cli {
namespace {

constexpr const char* kAccuracy = R"(A network gives wrong results in low precision. Ask in this order:

1. Is it wrong at all, and by how much?
     vernier run model.onnx --onnxrt --trt --int8 --data samples.npz --compare sqnr
     vernier verify model.onnx typed.onnx --data samples.npz          (a typed file that you have already)

2. Does it fail every time?
   Not always: the build or the device varies, not the network.
     vernier debug repeat --until 20 --artifacts replay.json --check ./build_and_compare.sh
     vernier inspect diff-tactics --dir polygraphy_artifacts
   Always: go on.

3. Can it be looked at layer by layer here (ONNX Runtime runs the model, the failure shows in simulation)?
   Yes: where does the error start, and which layers must stay in high precision?
     vernier debug accuracy model.onnx --sim --int8 --data samples.npz
     vernier diagnose model.onnx --int8 --min-sqnr 24 --data samples.npz -o out
   No, it only fails on the device: cut the network down until it is small enough to look at.
     vernier debug reduce model.onnx -o reduced.onnx --check ./fails_on_device.sh polygraphy_debug.onnx

4. You know the layers: take them out with the values that they see, as a test case.
     vernier surgeon extract model.onnx --inputs TENSOR:auto:auto --outputs TENSOR:auto --with-data samples.npz -o part.onnx

5. You want the smallest network that shows it, for a report to somebody else.
     vernier debug reduce model.onnx -o reduced.onnx --check-sim int8 --min-sqnr 15 --data samples.npz

vernier COMMAND --help says more of each.
)";

}  // namespace

Command add_help_topics(CLI::App& root) {
  auto messages = std::make_shared<MessageGroup>();
  CLI::App& app = add_command(command_group(root, "help", "Explain how to go about something"), "accuracy",
                              "Which command to use when a network is inaccurate in low precision");
  add_message_options(app, *messages);
  return {&app, messages.get(), [messages](Console& console) {
            print_result(console, kAccuracy);
            return 0;
          }};
}

}  // namespace vernier::cli
