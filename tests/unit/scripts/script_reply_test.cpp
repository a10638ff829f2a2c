#include "scripts/script_reply.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace vernier {
namespace {

std::string next_line(const ScriptReply& reply) {
  std::array<char, 64> read{};
  const ssize_t size = ::read(reply.reading_end(), read.data(), read.size());
  return {read.data(), static_cast<std::size_t>(size)};
}

TEST(ScriptReply, SaysWhereInTheFileTheAnswerIs) {
  const ScratchFile scratch;
  scratch.write("program");
  const ScriptReply reply;
  reply.send(scratch, "an answer");
  EXPECT_EQ(next_line(reply), "7 9\n");
  reply.send(scratch, "");
  EXPECT_EQ(next_line(reply), "16 0\n");
  std::array<char, 9> answer{};
  ASSERT_EQ(::pread(scratch.descriptor(), answer.data(), answer.size(), 7), 9);
  EXPECT_EQ(std::string_view(answer.data(), answer.size()), "an answer");
}

}  // namespace
}  // namespace vernier
