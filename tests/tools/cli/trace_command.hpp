// SPDX-License-Identifier: Apache-2.0
// What tests of commands on a trace share: a folder of their own with trace.csv in it, and errors
// that are asked for by code.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::tool {

class TraceCommand : public ::testing::Test {
 protected:
  explicit TraceCommand(const std::string& trace) {
    ::unsetenv("AQUA_DATA");
    char pattern[] = "/tmp/aqua-command-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    std::ofstream(path("trace.csv")) << trace;
  }
  ~TraceCommand() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_ / name).string();
  }
  // The command with these arguments after those of every test.
  virtual Result<std::string> run(const std::vector<std::string>& arguments) = 0;
  // Lives as long as both.
  static std::vector<std::string_view> joined(const std::vector<std::string>& first,
                                              const std::vector<std::string>& then) {
    std::vector<std::string_view> all(first.begin(), first.end());
    all.insert(all.end(), then.begin(), then.end());
    return all;
  }
  // The message of an error with this code.
  std::string fails(const std::vector<std::string>& arguments, Code code) {
    const auto result = run(arguments);
    EXPECT_FALSE(result.ok());
    if (result.ok()) return "";
    EXPECT_EQ(to_string(result.error().code), to_string(code)) << result.error().message;
    return result.error().message;
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace aqua::tool
