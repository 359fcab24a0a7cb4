// SPDX-License-Identifier: Apache-2.0
#include "tests/kill/steps.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "base/concat.hpp"
#include "tests/kill/proc.hpp"
#include "tests/kill/run_delays.hpp"

namespace aqua::kill_test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStepDeadline{600};

// The promise for a dead consumer's slabs.
constexpr milliseconds kReturnBase{200};
constexpr milliseconds kReturnPerGib{300};

}  // namespace

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
      return rig_.reclaim(kProducer, rig_.full_target(), kStepDeadline);
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
  const RunDelays delays({rig_.pid(kCoordinator), rig_.pid(kProducer), ::getpid()});
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
  const milliseconds waited = delays.so_far();
  const auto promised = kReturnBase + kReturnPerGib * rig_.full_target() / (std::size_t{1} << 30);
  EXPECT_TRUE(back);
  EXPECT_LE(took, promised + waited)
      << "a dead consumer's slabs come back in " << promised.count() << " ms";
  std::cout << "[ MEASURED ] a dead consumer's slabs came back in " << took.count()
            << " ms (promised " << promised.count() << " ms, and " << waited.count()
            << " ms that the machine was busy)" << std::endl;
  RecordProperty("slabs_back_ms", static_cast<int>(took.count()));
}

void Steps::expect_consumer_moves_off(Clock::time_point death) {
  if (!rig_.running(kConsumer)) return;
  const bool moved = eventually(kPatience, [&] {
    const auto state = rig_.state();
    const Json consumer = rig_.ask(kConsumer, {{"do", "status"}});
    return state && state->slabs.empty() && !consumer.is_null() &&
           consumer.at("peer").at("capacity") == 0 &&
           mapped_slabs(rig_.pid(kConsumer)).size() == 2;  // its host tier and engine memory
  });
  EXPECT_TRUE(moved) << "a dead producer's memory is still held";
  std::cout << "[ MEASURED ] a dead producer's memory was left after "
            << std::chrono::duration_cast<milliseconds>(Clock::now() - death).count() << " ms"
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

}  // namespace aqua::kill_test
