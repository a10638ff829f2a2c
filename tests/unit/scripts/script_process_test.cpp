#include "scripts/script_process.h"

#include <string>
#include <vector>

#include "python.h"
#include "vernier/error.h"

namespace vernier::testing {
namespace {

class ScriptProcessTest : public ScriptTest {
 protected:
  ScriptProcess process(const std::string& program, const SourceOptions& options = with_python()) {
    ScriptProcess made({"loader.py", "load"}, options);
    made.program = kHost + program;
    made.kind = "data loader scripts";
    made.announces = "samples";
    made.said = [this](const Json& line) { lines_.push_back(line); };
    return made;
  }
  Error refusal(const ScriptProcess& process) {
    return error_of([&] { ScriptProcess(process).run(ScratchFile()); });
  }
  Error refusal(const std::string& program, const SourceOptions& options = with_python()) {
    return refusal(process(program, options));
  }

  std::vector<Json> lines_;
};

TEST_F(ScriptProcessTest, GivesTheProgramTheScriptItsFunctionAndArguments) {
  ScriptProcess made = process("tell(given=sys.argv[1:])\ntell(end=1)\n");
  made.arguments = {"7", "a b"};
  made.run(ScratchFile());
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_EQ(lines_[0].at("given"), Json(Json::Array{"loader.py", "load", "7", "a b"}));
  EXPECT_EQ(made.where(), "loader.py:load");
}

TEST_F(ScriptProcessTest, TheProgramIsAtTheStartOfTheSharedFile) {
  process("# a mark\ntext = os.pread(3, 1 << 20, 0).decode()\ntell(found=text.count('a mark') > 1)\ntell(end=1)\n")
      .run(ScratchFile());
  EXPECT_EQ(lines_.at(0).at("found"), true);
}

TEST_F(ScriptProcessTest, AFailureNamesTheFileTheFunctionOrTheSample) {
  const Error of_file = refusal("tell(error='broke', hint='mend it', at='script', names=[])\n");
  EXPECT_EQ(of_file.kind(), ErrorKind::Input);
  EXPECT_EQ(of_file.what(), std::string("loader.py: broke"));
  EXPECT_EQ(of_file.hint(), "mend it");
  EXPECT_EQ(refusal("tell(error='broke', hint='', at='function', names=[])\n").what(),
            std::string("loader.py:load: broke"));
  ScriptProcess made = process("tell(error='broke', hint='', at='sample', names=[])\n");
  made.place = [] { return "loader.py:load: sample 3"; };
  EXPECT_EQ(refusal(made).what(), std::string("loader.py:load: sample 3: broke"));
}

TEST_F(ScriptProcessTest, OfSeveralFailuresTheFirstIsSaid) {
  EXPECT_EQ(refusal("tell(error='first', hint='', at='script', names=[])\n"
                    "tell(error='second', hint='', at='script', names=[])\n")
                .what(),
            std::string("loader.py: first"));
}

TEST_F(ScriptProcessTest, AnUnknownFunctionIsAnsweredWithTheNearest) {
  EXPECT_EQ(refusal("tell(error='has none', hint='', at='script', names=['lead', 'unlike'])\n").hint(),
            "nearest: lead");
  EXPECT_EQ(refusal("tell(error='has none', hint='', at='script', names=['quite_unlike'])\n").hint(),
            "it has quite_unlike");
}

TEST_F(ScriptProcessTest, LinesThatAreNoJsonAreRefused) {
  const Error error = refusal("print('hello', flush=True)\ntime.sleep(60)\n");
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  EXPECT_EQ(error.what(), std::string("loader.py:load: something else wrote where samples are announced: hello"));
}

TEST_F(ScriptProcessTest, AnEndWithoutAWordIsAnError) {
  ScriptProcess made = process("os._exit(3)\n");
  made.so_far = [] { return "2 samples"; };
  const Error error = refusal(made);
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  EXPECT_TRUE(std::string(error.what()).ends_with(" after 2 samples")) << error.what();
  EXPECT_NE(std::string(error.what()).find('3'), std::string::npos) << error.what();
}

TEST_F(ScriptProcessTest, WhatHappensBehindTheEndHarmsNobody) {
  process("tell(end=1)\nos._exit(3)\n").run(ScratchFile());
  EXPECT_EQ(lines_.size(), 1U);
}

TEST_F(ScriptProcessTest, TimeIsUpWhenTheOptionsSay) {
  SourceOptions options = with_python();
  options.script_seconds = 0.5;
  const Error error = refusal("time.sleep(60)\n", options);
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  EXPECT_EQ(error.what(), std::string("loader.py:load: was still running after 0.5 s"));
}

TEST_F(ScriptProcessTest, IsInterruptedWhenAsked) {
  SourceOptions options = with_python();
  options.interrupted = [] { return true; };
  EXPECT_EQ(refusal("time.sleep(60)\n", options).kind(), ErrorKind::Interrupted);
}

TEST_F(ScriptProcessTest, APythonThatIsNotThereIsTheBackendsError) {
  SourceOptions options;
  options.python = "/no/such/python";
  const Error error = refusal("", options);
  EXPECT_EQ(error.kind(), ErrorKind::Backend);
  EXPECT_EQ(error.hint(), "data loader scripts need Python 3: ‹python› PROGRAM names it");
}

}  // namespace
}  // namespace vernier::testing
