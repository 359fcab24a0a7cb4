// SPDX-License-Identifier: Apache-2.0
// The fixture of the kill test's steps: one producer, one consumer and the coordinator, one of
// which is the victim.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/kill/rig.hpp"

namespace aqua::kill_test {

// What makes the victim reach the step.
enum class Trigger { start, lend, reclaim, consumer_death, new_coordinator };

struct Case {
  Role role;
  const char* step;
  Trigger trigger;
};

inline void PrintTo(const Case& c, std::ostream* out) {
  constexpr const char* kRoles[] = {"Coordinator", "Producer", "Consumer"};
  constexpr const char* kTriggers[] = {"Starting", "Lending", "Reclaiming", "ConsumerDeath",
                                       "NewCoordinator"};
  *out << kRoles[static_cast<int>(c.role)] << '_' << c.step << '_'
       << kTriggers[static_cast<int>(c.trigger)];
}

inline constexpr Actor kCoordinator{Role::coordinator, 0};
inline constexpr Actor kProducer{Role::producer, 0};
inline constexpr Actor kConsumer{Role::consumer, 0};

class Steps : public ::testing::TestWithParam<Case> {
 protected:
  Steps() : rig_(1) {}

  [[nodiscard]] Actor victim() const { return {GetParam().role, 0}; }
  void bring_to_step(const std::string& action);
  void lose_slabs();
  void expect_slabs_come_back(Clock::time_point death);
  void expect_consumer_moves_off(Clock::time_point death);
  void wait_past_time_to_live(Clock::time_point stopped);
  void expect_reclaim_names_the_consumer();
  void expect_all_is_well();

  Rig rig_;
};

}  // namespace aqua::kill_test
