#include "scripts/script_session.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "python.h"
#include "vernier/error.h"

namespace vernier::testing {
namespace {

using Json = nlohmann::json;

class ScriptSessionTest : public ScriptTest {
 protected:
  /// A program that does `action` with each piece of work.
  static SessionProgram program(const std::string& action, const std::string& before = "") {
    return {kHost + before + "\nwhile True:\n    work = ask()\n    if not work:\n        break\n    " + action +
                "\ntell(end=1)\n",
            {},
            "metric scripts",
            "a value"};
  }
  static inline const ScriptLocation kScript{"metric.py", "score"};
};

TEST_F(ScriptSessionTest, IsLoadedOnceAndAnswersCallByCall) {
  ScriptSession session(kScript, program("calls += 1; tell(twice=2 * work['number'], calls=calls)", "calls = 0"),
                        with_python());
  EXPECT_EQ(session.call("", {{"number", 21}}), (Json{{"twice", 42}, {"calls", 1}}));
  EXPECT_EQ(session.call("", {{"number", -3}}), (Json{{"twice", -6}, {"calls", 2}}));
}

TEST_F(ScriptSessionTest, EndsThoughItWasNeverCalled) {
  const ScriptSession session(kScript, program("pass"), with_python());
}

TEST_F(ScriptSessionTest, TextThatIsNoUtf8ReachesTheScriptAllTheSame) {
  ScriptSession session(kScript, program("tell(length=len(work['text']))"), with_python());
  EXPECT_EQ(session.call("", {{"text", "a\xff"}}).at("length"), 2);
}

TEST_F(ScriptSessionTest, AFailureInACallNamesItsPlace) {
  ScriptSession session(kScript, program("tell(error='broke', hint='', at='sample', names=[]); sys.exit(1)"),
                        with_python());
  const Error error = error_of([&] { session.call("iteration 3", {{"number", 1}}); });
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  EXPECT_EQ(error.what(), std::string("metric.py:score: iteration 3: broke"));
}

TEST_F(ScriptSessionTest, AFailureWhileLoadingIsThrownAtOnce) {
  const Error error = error_of([] {
    ScriptSession(kScript, program("pass", "tell(error='no', hint='', at='script', names=[])\nsys.exit(1)"),
                  with_python());
  });
  EXPECT_EQ(error.what(), std::string("metric.py: no"));
}

TEST_F(ScriptSessionTest, TimeCountsForLoadingAndForEachCall) {
  SourceOptions options = with_python();
  options.script_seconds = 1;
  EXPECT_EQ(error_of([&] { ScriptSession(kScript, program("pass", "time.sleep(60)"), options); }).what(),
            std::string("metric.py:score: was still being loaded after 1 s"));
  ScriptSession session(kScript, program("time.sleep(work['seconds']); tell(done=1)"), options);
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(session.call("", {{"seconds", 0.5}}).at("done"), 1) << "together more than one call may take";
  }
  EXPECT_EQ(error_of([&] {
              session.call("iteration 4", {{"seconds", 60}});
            }).what(),
            std::string("metric.py:score: iteration 4: was still running after 1 s"));
}

TEST_F(ScriptSessionTest, IsInterruptedWhenAsked) {
  const auto start = std::chrono::steady_clock::now();
  SourceOptions options = with_python();
  options.interrupted = [&] { return std::chrono::steady_clock::now() - start > std::chrono::seconds(2); };
  const Error error = error_of([&] {
    ScriptSession session(kScript, program("time.sleep(60)"), options);
    session.call("", {{"number", 1}});
  });
  EXPECT_EQ(error.kind(), ErrorKind::Interrupted);
}

}  // namespace
}  // namespace vernier::testing
