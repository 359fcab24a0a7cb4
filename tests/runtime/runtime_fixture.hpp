// SPDX-License-Identifier: Apache-2.0
// A coordinator in this process and runtimes that talk to it, for tests of the runtime.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"

namespace aqua::test {

class RuntimeFixture : public ::testing::Test {
 protected:
  RuntimeFixture();
  ~RuntimeFixture() override;

  // With the fixture's coordinator and directory, hostile devices and small slabs, unless
  // the options say otherwise.
  std::optional<Runtime> open(RuntimeOptions options);
  void start_daemon();
  void stop_daemon();

  // Every 8 bytes of the tensor get a value made of `seed` and their place.
  static void stamp(Runtime& runtime, AquaTensor& tensor, std::uint64_t seed);
  // How many of them differ from that.
  static std::size_t mismatches(Runtime& runtime, AquaTensor& tensor, std::uint64_t seed);
  // Polls, for what makes no event; fails the test after 20 s.
  static void await(const std::function<bool()>& condition);

  std::string directory_;
  bool one_device_ = false;  // of the next daemon: engines on one device are paired too

 private:
  struct Daemon;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace aqua::test
