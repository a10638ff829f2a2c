#include "scripts/script_location.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace vernier {
namespace {

using Named = std::pair<std::string, std::string>;

Named named(const std::string& text) {
  const auto location = script_location(text);
  return location ? Named{location->file, location->function} : Named{};
}

TEST(ScriptLocation, IsAFileAndPerhapsAFunction) {
  EXPECT_EQ(named("loader.py"), Named("loader.py", "load_data"));
  EXPECT_EQ(named("loader.py:mine"), Named("loader.py", "mine"));
  EXPECT_EQ(named("/some/where/loader.py:mine"), Named("/some/where/loader.py", "mine"));
  EXPECT_EQ(script_location("metric.py", "score")->function, "score");
  EXPECT_EQ(script_location("metric.py:mine", "score")->function, "mine");
}

TEST(ScriptLocation, ColonsInTheNameOfAFileAreItsOwn) {
  EXPECT_EQ(named("a:b.py"), Named("a:b.py", "load_data"));
  EXPECT_EQ(named("a:b.py:mine"), Named("a:b.py", "mine"));
}

TEST(ScriptLocation, OtherFilesAreNoScripts) {
  for (const char* text : {"", "data.npz", "loader.py:", "data.npz:load", "loader.pyc", "C:data"}) {
    EXPECT_FALSE(script_location(text)) << text;
  }
}

}  // namespace
}  // namespace vernier
