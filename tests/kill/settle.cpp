// SPDX-License-Identifier: Apache-2.0
// Rig's judgement: whether the server is as it should be in quiet times.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/concat.hpp"
#include "tests/kill/proc.hpp"
#include "tests/kill/rig.hpp"

namespace aqua::kill_test {
namespace {

constexpr std::size_t kToldReasons = 40;  // in one story, of what is not settled yet

std::string list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

bool done(const Json& status) {
  return status.at("reclaim").at("done") || status.at("reclaim").at("wanted") == 0;
}

}  // namespace

// With several pairs a consumer that has still slabs of one producer may be paired with another;
// the rest of the first one's slabs is then for nobody, by the ledger's rules of pairing.
bool Rig::several_pairs() const {
  return nodes_.size() > 2;
}

std::string Rig::unsettled_clients(const wire::State& state) {
  for (const Actor& node : nodes_) {
    const ledger::Client* client = find(state, node);
    if (client == nullptr) return concat(to_string(node), " is no client");
    if (client->state != ledger::ClientState::live) return concat(to_string(node), " is suspect");
  }
  if (state.clients.size() != nodes_.size())
    return concat(state.clients.size(), " clients, some of them dead");
  return {};
}

std::string Rig::unsettled_slabs(const wire::State& state) {
  for (const ledger::Slab& slab : state.slabs) {
    const auto is = [](const ClientId& id) {
      return [id](const ledger::Client& client) { return client.info.id == id; };
    };
    if (std::ranges::none_of(state.clients, is(slab.id.producer))) return "a slab of nobody";
    if (slab.state == ledger::SlabState::offered && several_pairs()) continue;
    if (slab.state != ledger::SlabState::leased)
      return concat("slab ", to_string(slab.id), " is ", to_string(slab.state));
    if (std::ranges::none_of(state.clients, is(*slab.holder))) return "a slab is leased by nobody";
  }
  return {};
}

std::string Rig::unsettled_node(const wire::State& state, const Actor& actor) {
  const Json status = ask(actor, {{"do", "status"}});
  if (status.is_null()) return concat(to_string(actor), " does not answer");
  const auto no = [&](const auto&... why) {
    return concat(to_string(actor), ": ", why..., ": ", status.dump());
  };
  const NodeOptions sizes;
  if (!status.at("connected")) return no("not connected");
  std::size_t foreign = 0;  // slabs mapped beyond its own
  if (actor.role == Role::producer) {
    const std::size_t lent = status.at("lent");
    if (lent != target_) return no("lends ", lent, " of ", target_);
    // Until a new coordinator has heard of it again, all slabs may be leased once more.
    if (!done(status)) return no("a reclaim is under way");
    const ledger::Client* self = find(state, actor);
    const auto leased = std::ranges::count_if(state.slabs, [&](const ledger::Slab& slab) {
      return slab.id.producer == self->info.id && slab.holder;
    });
    if (status.at("held") != static_cast<std::size_t>(leased) * sizes.slab_bytes)
      return no("another ", leased, " slabs are leased");
    if (status.at("held") != lent && !several_pairs()) return no("not all that is lent is held");
    if (status.at("free") != sizes.device_bytes - sizes.engine_bytes - lent)
      return no("device memory is missing");
    foreign = lent / sizes.slab_bytes;
  } else {
    foreign = held_by(state, actor);
    const Json& peer = status.at("peer");
    if (peer.at("capacity") != foreign * sizes.slab_bytes)
      return no("has not imported its ", foreign, " slabs");
    if (several_pairs() ? foreign == 0 : foreign != target_ / sizes.slab_bytes)
      return no("holds ", foreign, " slabs");
    const std::size_t room = foreign * sizes.slab_bytes / sizes.tensor_bytes;
    if (peer.at("tensors") != std::min(room, sizes.tensors))
      return no("not every tensor is where it should be");
  }
  if (const std::size_t maps = mapped_slabs(pid(actor)).size(); maps != kOwnSlabs + foreign) {
    return no("maps ", maps, " slabs, not ", kOwnSlabs, " + ", foreign);
  }
  return {};
}

// The fewest of some time: a call in progress has one more.
void Rig::remember_descriptors() {
  constexpr std::chrono::milliseconds kLooking{60};
  (void)eventually(kLooking, [&] {
    for (const Actor& actor : actors_) {
      const auto now = descriptors(pid(actor));
      auto& fewest = descriptors_.try_emplace(actor.role, now).first->second;
      if (now.size() < fewest.size()) fewest = now;
    }
    return false;
  });
}

std::string Rig::unsettled_descriptors(const Actor& actor) {
  const auto known = descriptors_.find(actor.role);
  // Each lent slab is a descriptor, so only the full target compares.
  if (known == descriptors_.end() || target_ != full_target()) return {};
  const auto now = descriptors(pid(actor));
  if (known->second == now) return {};
  std::vector<std::string> more, less;
  std::ranges::set_difference(now, known->second, std::back_inserter(more));
  std::ranges::set_difference(known->second, now, std::back_inserter(less));
  // A consumer closes a slab's descriptor once it has mapped it. On a busy machine one was still
  // open all the time that the fewest were looked for.
  const auto slabs = std::ranges::count(less, "/memfd:aqua-slab (deleted)");
  if (actor.role == Role::consumer && more.empty() && std::ssize(less) == slabs) {
    known->second = now;
    return {};
  }
  // With several pairs a node may stay connected to a living one that it had dealings with, and
  // a producer holds the pidfd of such a one. Those of the dead would add up.
  const std::size_t others = nodes_.size() / 2 - 1;
  const auto count = [&](const char* kind) {
    return static_cast<std::size_t>(std::ranges::count(more, kind));
  };
  const std::size_t sockets = count("socket");
  const std::size_t pidfds = count("anon_inode:[pidfd]");
  if (less.empty() && actor.role != Role::coordinator && sockets <= others && pidfds <= others &&
      more.size() == sockets + pidfds) {
    return {};
  }
  return concat(to_string(actor), " has more descriptors: ", list(more), "and less: ", list(less));
}

std::string Rig::unsettled() {
  for (const Actor& actor : actors_) {
    if (!running(actor)) return concat(to_string(actor), " does not run");
  }
  const auto now = state();
  if (!now) return "the coordinator does not answer";
  if (auto why = unsettled_clients(*now); !why.empty()) return why;
  for (const Actor& node : nodes_) {
    if (auto why = unsettled_node(*now, node); !why.empty()) return why;
  }
  if (auto why = unsettled_slabs(*now); !why.empty()) return why;
  for (const Actor& actor : actors_) {
    if (auto why = unsettled_descriptors(actor); !why.empty()) return why;
  }
  // What was looked at one after another was so at one moment.
  const auto later = state();
  if (!later || later->last_event != now->last_event) return "slabs changed hands meanwhile";
  return {};
}

void Rig::settle(const std::string& when) {
  std::string why;
  std::size_t told = 0;
  const bool settled = eventually(kPatience, [&] {
    for (const Actor& node : nodes_) {
      if (node.role != Role::producer || !running(node)) continue;
      if (const Json status = ask(node, {{"do", "status"}}); !status.is_null() && done(status))
        lend(node);
    }
    const std::string was = std::exchange(why, unsettled());
    if (was != why && ++told < kToldReasons) tell("not yet: " + why);
    return why.empty() || ::testing::Test::HasFailure();
  });
  tell(concat(settled && why.empty() ? "settled " : "not settled ", when, why.empty() ? "" : ": ",
              why));
  ASSERT_TRUE(settled) << when << ": " << why;
}

}  // namespace aqua::kill_test
