#include "base/cache_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace vernier {
namespace {

/// While it lives, a variable of the environment has another value.
class OtherValue {
 public:
  OtherValue(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~OtherValue() { ::setenv(name_, before_.c_str(), 1); }
  OtherValue(const OtherValue&) = delete;
  OtherValue& operator=(const OtherValue&) = delete;

 private:
  const char* name_;
  std::string before_;  // empty means the same as none to who is tested
};

TEST(CacheFolder, IsTheUsers) {
  const OtherValue home("HOME", "/home/someone");
  {
    const OtherValue given("XDG_CACHE_HOME", "/caches");
    EXPECT_EQ(cache_folder(), "/caches/vernier");
  }
  for (const char* none : {"", "relative/folder"}) {
    const OtherValue given("XDG_CACHE_HOME", none);
    EXPECT_EQ(cache_folder(), "/home/someone/.cache/vernier") << none;
    const OtherValue homeless("HOME", "");
    EXPECT_EQ(cache_folder(), "") << none;
  }
}

}  // namespace
}  // namespace vernier
