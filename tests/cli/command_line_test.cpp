#include "console/command_line.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

using Arguments = std::vector<std::string>;

TEST(NormalizeArguments, TurnsUnderscoresOfNamesButNotOfValues) {
  EXPECT_EQ(normalize_arguments({"--a_b=c_d", "e_f", "-o", "g_h"}), Arguments({"--a-b=c_d", "e_f", "-o", "g_h"}));
}

TEST(NormalizeArguments, LeavesWhatFollowsTwoDashes) {
  EXPECT_EQ(normalize_arguments({"--a_b", "--", "--c_d"}), Arguments({"--a-b", "--", "--c_d"}));
}

TEST(NormalizeArguments, KeepsBareValueRangesInOnePiece) {
  EXPECT_EQ(normalize_arguments({"--val-range", "[0,1]", "x:[2,3]", "--outputs", "[a]"}),
            Arguments({"--val-range", ":[0,1]", "x:[2,3]", "--outputs", "[a]"}));
  EXPECT_EQ(normalize_arguments({"--val_range=[0,1]"}), Arguments({"--val-range=:[0,1]"}));
}

TEST(CommandText, QuotesForAShellOnlyWhereNeeded) {
  EXPECT_EQ(command_text({"diagnose", "a/b_c-1.onnx", "x:0=1,2%+@"}), "vernier diagnose a/b_c-1.onnx x:0=1,2%+@");
  EXPECT_EQ(command_text({"", "a b", "it's", "a*"}), "vernier '' 'a b' 'it'\\''s' 'a*'");
}

TEST(ParseArguments, EveryOptionOfTheContractIsKnownToDiagnose) {
  for (const char* name : {"--int8",
                           "--fp16",
                           "--bf16",
                           "--fp8",
                           "--low",
                           "--precision",
                           "--high",
                           "--high-precision-dtype",
                           "--layer-precisions",
                           "--precision-constraints",
                           "--target",
                           "--min-sqnr",
                           "--max-abs-error",
                           "--max-mse",
                           "--min-cosine",
                           "--min-top1-agreement",
                           "--outputs",
                           "--data",
                           "--samples",
                           "--calibration-data",
                           "--carry",
                           "--val-range",
                           "--seed",
                           "--input-shapes",
                           "--split-batch",
                           "--image",
                           "--image-mean",
                           "--image-std",
                           "--image-color",
                           "--image-layout",
                           "--threads",
                           "--max-evaluations",
                           "--no-latency",
                           "--top",
                           "--output",
                           "--json",
                           "--verbose",
                           "--quiet",
                           "--log-file",
                           "--help"}) {
    CLI::App root("", "vernier");
    const Command diagnose = add_diagnose(root, "");
    EXPECT_NE(diagnose.app->get_option_no_throw(name), nullptr) << name;
  }
}

TEST(ParseArguments, AnOptionGivenTwiceIsAUsageError) {
  CLI::App root("", "vernier");
  const Command diagnose = add_diagnose(root, "");  // owns what the options write to
  try {
    parse_arguments(root, {"diagnose", "m.onnx", "--data", "a", "--data", "b"});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_NE(std::string(error.what()).find("--data"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace vernier::cli
