// SPDX-License-Identifier: Apache-2.0
// Rig's judgement: what must hold at any time.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/concat.hpp"
#include "tests/kill/proc.hpp"
#include "tests/kill/rig.hpp"

namespace aqua::kill_test {

const ledger::Client* Rig::find(const wire::State& state, const Actor& actor) const {
  const auto found =
      std::ranges::find(state.clients, static_cast<std::int64_t>(pid(actor)),
                        [](const ledger::Client& client) { return client.info.pid; });
  return found == state.clients.end() ? nullptr : &*found;
}

std::size_t Rig::held_by(const wire::State& state, const Actor& actor) const {
  const ledger::Client* client = find(state, actor);
  if (client == nullptr) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(
      state.slabs, [&](const ledger::Slab& slab) { return slab.holder == client->info.id; }));
}

void Rig::verify(const std::string& when) {
  for (const Actor& node : nodes_) {
    if (!running(node)) continue;
    const Json found = ask(node, {{"do", "verify"}});
    if (found.is_null()) continue;
    for (const char* fault : {"mismatches", "strangers", "lost", "errors"}) {
      EXPECT_EQ(found.at(fault), 0)
          << to_string(node) << ", " << when << ": " << fault << ": " << found.at("first");
    }
  }
}

std::string Rig::sharers() {
  std::map<std::uint64_t, Actor> holders;
  for (const Actor& node : nodes_) {
    if (node.role != Role::consumer || slots_[node].child == nullptr) continue;
    for (const std::uint64_t inode : mapped_slabs(pid(node))) {
      const auto [other, first] = holders.emplace(inode, node);
      if (!first && other->second != node)
        return concat(to_string(node), " and ", to_string(other->second), " map ", inode);
    }
  }
  return {};
}

void Rig::expect_one_holder(const std::string& when) {
  // The maps are not read at one moment: a slab may change hands in between, but not for long.
  std::string who;
  EXPECT_TRUE(eventually(std::chrono::milliseconds(200), [&] { return (who = sharers()).empty(); }))
      << when << ": " << who;
}

void Rig::sweep(const std::string& when) {
  const NodeOptions sizes;
  for (const Actor& node : nodes_) {
    if (node.role != Role::consumer) continue;
    const Json swept = ask(node, {{"do", "sweep"}});
    if (swept.is_null()) continue;
    tell(concat(to_string(node), " swept ", swept.dump()));
    if (!several_pairs()) {
      EXPECT_GT(swept.at("bytes"), 0) << when;
    }
  }
  verify(when);
}

}  // namespace aqua::kill_test
