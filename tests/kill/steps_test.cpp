// Every named step of the protocol × every role that takes it, killed there, and stopped
// there past the time to live and resumed.
//
// | step      | producer                    | consumer                   | coordinator (recorded,
// not answered) |
// |-----------|-----------------------------|----------------------------|--------------------------------------|
// | register  | joins                       | joins                      | a client it does not
// know joined     | | export    | answers a fetch             | -                          |
// granted slabs                        | | import    | -                           | maps a slab |
// -                                    | | copy      | -                           | promotes, or
// evacuates     | -                                    | | flip      | - | promotes, or evacuates
// | -                                    | | return    | -                           | has unmapped
// a slab        | took a return                        | | scrub     | scrubs, after a return or a
// | -                          | took a scrub                         | |           | death | | |
// | reconnect | joins a new coordinator     | joins a new coordinator    | an exporter declared
// held slabs      |
//
// A dash: the role never takes the step, so there is no such test.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>

#include "base/concat.hpp"
#include "kill/proc.hpp"
#include "kill/rig.hpp"

namespace aqua::kill_test {
namespace {

using std::chrono::milliseconds;

// What makes the victim reach the step.
enum class Trigger { start, lend, reclaim, consumer_death, new_coordinator };

struct Case {
  Role role;
  const char* step;
  Trigger trigger;
};
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

constexpr Actor kCoordinator{Role::coordinator, 0};
constexpr Actor kProducer{Role::producer, 0};
constexpr Actor kConsumer{Role::consumer, 0};
constexpr milliseconds kReclaimDeadline{600};

// The promise for a dead consumer's slabs, and what two busy cores may add to it.
constexpr milliseconds kReturnBase{200};
constexpr milliseconds kReturnPerGib{300};
constexpr milliseconds kSchedulingSlack{500};

std::string name_of(const Case& c) {
  constexpr const char* kRoles[] = {"Coordinator", "Producer", "Consumer"};
  constexpr const char* kTriggers[] = {"Starting", "Lending", "Reclaiming", "ConsumerDeath",
                                       "NewCoordinator"};
  return concat(kRoles[static_cast<int>(c.role)], "_", c.step, "_",
                kTriggers[static_cast<int>(c.trigger)]);
}

class Steps : public ::testing::TestWithParam<Case> {
 protected:
  Steps() : rig_(1) {}

  [[nodiscard]] Actor victim() const { return {GetParam().role, 0}; }
  void bring_to_step(const std::string& action);
  void lose_slabs();
  void expect_slabs_come_back(Clock::time_point death);
  void expect_consumer_moves_off();
  void wait_past_time_to_live(Clock::time_point stopped);
  void expect_reclaim_names_the_consumer();
  void expect_all_is_well();

  Rig rig_;
};

void Steps::lose_slabs() {
  rig_.set_target(0);
  rig_.reclaim(kProducer, rig_.full_target(), milliseconds(5000));
  rig_.settle("with nothing lent");
  rig_.set_target(rig_.full_target());
}

void Steps::bring_to_step(const std::string& action) {
  rig_.sweep("at the beginning");  // every lent byte is stamped
  const std::string at = concat(GetParam().step, ":1:", action);
  switch (GetParam().trigger) {
    case Trigger::start:
      rig_.kill(victim());
      return rig_.start(victim(), at);
    case Trigger::lend:
      lose_slabs();
      if (HasFatalFailure()) return;
      rig_.arm(victim(), at);
      return rig_.lend(kProducer);
    case Trigger::reclaim:
      rig_.arm(victim(), at);
      return rig_.reclaim(kProducer, rig_.full_target(), kReclaimDeadline);
    case Trigger::consumer_death:
      rig_.arm(victim(), at);
      return rig_.kill(kConsumer);
    case Trigger::new_coordinator:
      if (victim() != kCoordinator) rig_.arm(victim(), at);
      rig_.kill(kCoordinator);
      return rig_.start(kCoordinator, victim() == kCoordinator ? at : "");
  }
}

// Each slab is offered again, or home where it was being reclaimed.
void Steps::expect_slabs_come_back(Clock::time_point death) {
  const std::size_t slab_bytes = NodeOptions{}.slab_bytes;
  const bool back = eventually(kPatience, [&] {
    const auto state = rig_.state();
    const Json producer = rig_.ask(kProducer, {{"do", "status"}});
    if (!state || producer.is_null()) return false;
    return state->slabs.size() == producer.at("lent").get<std::size_t>() / slab_bytes &&
           std::ranges::all_of(state->slabs, [](const auto& slab) {
             return slab.state == ledger::SlabState::offered;
           });
  });
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - death);
  const auto promised = kReturnBase + kReturnPerGib * rig_.full_target() / (std::size_t{1} << 30);
  EXPECT_TRUE(back);
  EXPECT_LE(took, promised + kSchedulingSlack)
      << "a dead consumer's slabs come back in " << promised.count() << " ms";
  std::cout << "[ MEASURED ] a dead consumer's slabs came back in " << took.count()
            << " ms (promised " << promised.count() << " ms)" << std::endl;
  RecordProperty("slabs_back_ms", static_cast<int>(took.count()));
}

void Steps::expect_consumer_moves_off() {
  if (!rig_.running(kConsumer)) return;
  const auto began = Clock::now();
  const bool moved = eventually(kPatience, [&] {
    const auto state = rig_.state();
    const Json consumer = rig_.ask(kConsumer, {{"do", "status"}});
    return state && state->slabs.empty() && !consumer.is_null() &&
           consumer.at("peer").at("capacity") == 0 &&
           mapped_slabs(rig_.pid(kConsumer)).size() == 2;  // its host tier and engine memory
  });
  EXPECT_TRUE(moved) << "a dead producer's memory is still held";
  std::cout << "[ MEASURED ] a dead producer's memory was left after "
            << std::chrono::duration_cast<milliseconds>(Clock::now() - began).count() << " ms"
            << std::endl;
}

// Until the coordinator calls the victim suspect, and its leases' time to live is over too.
// The survivors work meanwhile.
void Steps::wait_past_time_to_live(Clock::time_point stopped) {
  bool first = true;
  std::size_t held = 0;
  const bool past = eventually(kPatience, [&] {
    rig_.verify("while the victim is stopped");
    rig_.expect_one_holder("while the victim is stopped");
    if (victim() != kCoordinator) {
      const auto state = rig_.state();
      const ledger::Client* client = state ? rig_.find(*state, victim()) : nullptr;
      if (!state || (client != nullptr && client->state == ledger::ClientState::live)) return false;
    }
    if (victim() == kConsumer) {
      const std::size_t now = rig_.ask(kProducer, {{"do", "status"}}).at("held");
      EXPECT_TRUE(first || now == held)
          << "a slab of a stopped consumer went from " << held << " to " << now;
      held = now;
      first = false;
    }
    return HasFailure() || Clock::now() >= stopped + 2 * kLeaseTtl;
  });
  EXPECT_TRUE(past) << "the victim was not suspected";
  rig_.tell("the victim's time to live is over");
}

void Steps::expect_reclaim_names_the_consumer() {
  Json status;
  EXPECT_TRUE(eventually(kPatience, [&] {
    status = rig_.ask(kProducer, {{"do", "status"}});
    return status.is_null() || status.at("reclaim").at("done");
  })) << "a reclaim outlives its deadline";
  if (status.is_null() || status.at("held") == 0) return;
  const Json& holders = status.at("reclaim").at("holders");
  EXPECT_TRUE(std::ranges::find(holders, Json(rig_.pid(kConsumer))) != holders.end()) << status;
}

void Steps::expect_all_is_well() {
  rig_.settle("in the end");
  if (HasFatalFailure()) return;
  rig_.verify("in the end");
  rig_.expect_one_holder("in the end");
  rig_.sweep("in the end");
}

TEST_P(Steps, KilledThere) {
  if (HasFatalFailure()) return;
  bring_to_step("kill");
  ASSERT_TRUE(rig_.await_dead(victim())) << "the step was not reached";
  const auto death = Clock::now();
  rig_.verify("after the death");
  if (victim() == kConsumer) expect_slabs_come_back(death);
  if (victim() == kProducer) expect_consumer_moves_off();
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
                         [](const auto& one) { return name_of(one.param); });

}  // namespace
}  // namespace aqua::kill_test
