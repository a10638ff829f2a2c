// One session, several threads, a recorder for each: nobody sees what another run did.
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "engines/onnxruntime/operators.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "plan/round_node.h"
#include "tiny_networks.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

constexpr std::size_t kThreads = 8;
constexpr int kRunsEach = 20;

/// Round, Observe, Compare and Inject in one graph: y is x rounded, or what is injected.
Model all_operators() {
  Model model = model_of("g (float[64] x) => (float[64] y) { y = Identity(x) }");
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  graph.clear_node();
  *graph.add_node() = observe_node("x", "seen", 0);
  QuantParams step;
  step.format = Format::Int8;
  step.scale = {0.01F};
  *graph.add_node() = round_node("seen", "low", step, 0);
  *graph.add_node() = compare_node("seen", "low", "ref", "got", 0);
  *graph.add_node() = inject_node("got", "y", 0);
  return model;
}

/// Noise is a function of the layer and the place in its tensor, whichever thread runs it, and however many the session
/// has.
TEST(Operators, GiveTheSameNoiseInEveryThread) {
  Model model = model_of("g (float[1,8,512] x) => (float[1,8,512] y) { y = Identity(x) }");
  *model.proto.mutable_graph()->mutable_node(0) = accumulate_node("x", "", "y", Format::Float16, 36, 5);
  const Tensor x = bell({1, 8, 512}, 3, 1);
  const Session one(Runtime::load(), model, {.optimize = false, .threads = 1, .integer_kernels = false});
  const Tensor alone = one.run({{"x", x}}).front();
  EXPECT_FALSE(same_bits(alone, x));
  for (const int inner_threads : {1, 4}) {
    const Session session(Runtime::load(), model,
                          {.optimize = inner_threads == 4, .threads = inner_threads, .integer_kernels = false});
    std::vector<Tensor> outputs(kThreads);
    {
      std::vector<std::jthread> threads;
      for (std::size_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] { outputs[t] = session.run({{"x", x}}).front(); });
      }
    }
    for (const Tensor& output : outputs) EXPECT_TRUE(same_bits(output, alone));
  }
}

TEST(Operators, KeepRunsOfSeveralThreadsApart) {
  const Session session(Runtime::load(), all_operators(), {.optimize = false, .threads = 1, .integer_kernels = false});
  struct Outcome {
    Recorder recorder{1, 1, 1};
    Tensor output;
  };
  // Thread t feeds values of its own size, and the odd ones inject.
  const auto work = [&](std::size_t t) {
    Outcome run;
    const Tensor x = bell({64}, static_cast<std::uint32_t>(t), static_cast<float>(t + 1));
    if (t % 2 == 1) run.recorder.injections[0] = scaled(x, 2);
    for (int i = 0; i < kRunsEach; ++i) run.output = session.run({{"x", x}}, &run.recorder).front();
    return run;
  };
  std::vector<Outcome> together(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { together[t] = work(t); });
  }
  for (std::size_t t = 0; t < kThreads; ++t) {
    const Outcome alone = work(t);
    EXPECT_TRUE(same_bits(together[t].output, alone.output)) << t;
    EXPECT_EQ(together[t].recorder.errors[0], alone.recorder.errors[0]) << t;
    EXPECT_EQ(together[t].recorder.ranges[0], alone.recorder.ranges[0]) << t;
    EXPECT_EQ(together[t].recorder.events[0], alone.recorder.events[0]) << t;
    EXPECT_EQ(alone.recorder.events[0].count, 64 * kRunsEach);
  }
}

}  // namespace
}  // namespace vernier::testing
