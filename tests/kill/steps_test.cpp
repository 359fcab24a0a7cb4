// SPDX-License-Identifier: Apache-2.0
// Every named step of the protocol × every role that takes it, killed there, and stopped
// there past the time to live and resumed. A dash: the role never takes the step, so there is
// no such test. The coordinator reaches a step when it is recorded and not yet answered.
//
// | step      | producer                | consumer                | coordinator              |
// |-----------|-------------------------|-------------------------|--------------------------|
// | register  | joins                   | joins                   | a client unknown to it   |
// |           |                         |                         | has joined               |
// | export    | answers a fetch         | -                       | has granted slabs        |
// | import    | -                       | maps a slab             | -                        |
// | copy      | -                       | promotes, or evacuates  | -                        |
// | flip      | -                       | promotes, or evacuates  | -                        |
// | return    | -                       | has unmapped a slab     | has taken a return       |
// | scrub     | after a return, or      | -                       | has taken a scrub        |
// |           | after a death           |                         |                          |
// | reconnect | joins a new coordinator | joins a new coordinator | has been told who holds  |
// |           |                         |                         | what                     |
#include "tests/kill/steps.hpp"

namespace aqua::kill_test {
namespace {

constexpr Case kCases[] = {
    {Role::producer, "register", Trigger::start},
    {Role::producer, "export", Trigger::lend},
    {Role::producer, "scrub", Trigger::reclaim},
    {Role::producer, "scrub", Trigger::consumer_death},
    {Role::producer, "reconnect", Trigger::new_coordinator},
    {Role::consumer, "register", Trigger::start},
    {Role::consumer, "import", Trigger::lend},
    {Role::consumer, "copy", Trigger::lend},
    {Role::consumer, "copy", Trigger::reclaim},
    {Role::consumer, "flip", Trigger::lend},
    {Role::consumer, "flip", Trigger::reclaim},
    {Role::consumer, "return", Trigger::reclaim},
    {Role::consumer, "reconnect", Trigger::new_coordinator},
    {Role::coordinator, "register", Trigger::start},
    {Role::coordinator, "export", Trigger::lend},
    {Role::coordinator, "return", Trigger::reclaim},
    {Role::coordinator, "scrub", Trigger::reclaim},
    {Role::coordinator, "reconnect", Trigger::new_coordinator},
};

TEST_P(Steps, KilledThere) {
  if (HasFatalFailure()) return;
  bring_to_step("kill");
  ASSERT_TRUE(rig_.await_dead(victim())) << "the step was not reached";
  const auto death = Clock::now();
  if (victim() == kConsumer) expect_slabs_come_back(death);
  if (victim() == kProducer) expect_consumer_moves_off(death);
  rig_.verify("after the death");
  rig_.expect_one_holder("after the death");
  for (const Actor& actor : rig_.actors()) {
    if (!rig_.running(actor)) rig_.start(actor);
  }
  expect_all_is_well();
}

TEST_P(Steps, StoppedTherePastTheTimeToLive) {
  if (HasFatalFailure()) return;
  bring_to_step("stop");
  ASSERT_TRUE(rig_.await_stopped(victim())) << "the step was not reached";
  wait_past_time_to_live(Clock::now());
  if (GetParam().trigger == Trigger::reclaim && victim() == kConsumer)
    expect_reclaim_names_the_consumer();
  rig_.resume(victim());
  rig_.verify("after it was resumed");
  rig_.expect_one_holder("after it was resumed");
  for (const Actor& actor : rig_.actors()) {
    if (!rig_.running(actor)) rig_.start(actor);
  }
  expect_all_is_well();
}

INSTANTIATE_TEST_SUITE_P(Kill, Steps, ::testing::ValuesIn(kCases),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace aqua::kill_test
