// SPDX-License-Identifier: Apache-2.0
// World: a coordinator that lives and dies over one store, under the load of clients who write down
// what they were told.
//
// Threads: one; the clients' are its own. Errors: gtest's failures.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/child_process.hpp"
#include "tests/crash/clients.hpp"
#include "tests/crash/records.hpp"

namespace aqua::crash_test {

class World {
 public:
  explicit World(std::uint64_t seed);

  // --- lives of the coordinator; after each, what it left is looked at ---
  // It dies at this step of its file system, unless it is killed before it is reached.
  void die_at(const std::string& step);
  // After so many writes to the log as chance says, and what else it did until the signal came.
  void die_at_a_random_moment();
  // As soon as the log was begun anew within this life. False when its clients ended before.
  [[nodiscard]] bool die_behind_a_new_log();
  // A life in peace: everybody reconciles, and all records agree.
  void settle();

  void expect_no_violations() const;
  // To the test's output.
  void report() const;

  [[nodiscard]] Records::Counts counts() const { return records_.counts(); }
  [[nodiscard]] std::size_t deaths_at_steps() const { return deaths_at_steps_; }
  [[nodiscard]] std::string data() const { return dir_ / "data"; }

 private:
  class Workers;
  // One life under load, until `until` returns; the daemon's exit status.
  int live(const std::string& at, const std::function<void(Workers&)>& until);
  [[nodiscard]] testing::ChildProcess start(const std::string& at) const;

  testing::TempDir dir_;
  std::mt19937_64 random_;
  Records records_;
  std::vector<std::unique_ptr<Exporter>> exporters_;
  std::vector<std::unique_ptr<Importer>> importers_;
  std::size_t deaths_at_steps_ = 0;
  std::uint32_t logs_begun_ = 0;  // anew, within lives: what a start begins is not in it
};

}  // namespace aqua::crash_test
