// SPDX-License-Identifier: Apache-2.0
#include "coordinator/common/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aqua::coordinator {
namespace {

using ::testing::HasSubstr;

// What log() writes of a message and a field that say `text`.
std::string logged(LogFormat format, const std::string& text) {
  start_logging(format, "info");
  ::testing::internal::CaptureStderr();
  log(LogLevel::warn, text, {{"name", text}});
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, NoValueCommandsATerminalOrBeginsALine) {
  const std::string text =
      "a\x1b[31m\xc2\x9b"
      "b\xe2\x80\xae"
      "c\xe2\x80\xa8"
      "d\n\x7f\"gr\xc3\xbc\"\\";
  const std::string line = logged(LogFormat::text, text);
  EXPECT_THAT(
      line, HasSubstr("a\\u001b[31m\\u009bb\\u202ec\\u2028d\\u000a\\u007f\\\"gr\xc3\xbc\\\"\\\\"));
  const std::string json = logged(LogFormat::json, text);
  for (const char* control : {"\x1b", "\x7f", "\xc2\x9b", "\xe2\x80\xae", "\xe2\x80\xa8"}) {
    EXPECT_EQ(line.find(control), std::string::npos) << line;
    EXPECT_EQ(json.find(control), std::string::npos) << json;
  }
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(json.find('\n'), json.size() - 1);
  EXPECT_EQ(nlohmann::json::parse(json).at("name"), text);
}

}  // namespace
}  // namespace aqua::coordinator
