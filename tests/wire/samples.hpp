// SPDX-License-Identifier: Apache-2.0
// One well-formed value of every message, with every optional part present.
#pragma once

#include "wire/clients.hpp"
#include "wire/error.hpp"
#include "wire/events.hpp"
#include "wire/groups.hpp"
#include "wire/observation.hpp"
#include "wire/problem.hpp"
#include "wire/servers.hpp"
#include "wire/slabs.hpp"
#include "wire/state.hpp"

namespace aqua::wire::samples {

inline constexpr ledger::Time kNow{1'000'000};

template <typename Id>
Id id(std::uint8_t byte) {
  Id out;
  out.bytes.fill(byte);
  return out;
}
inline const Epoch kEpoch = id<Epoch>(0xe0);
inline const ClientId kProducer = id<ClientId>(0x0a);
inline const ClientId kConsumer = id<ClientId>(0x0b);
inline const ledger::SlabId kSlab{kProducer, 7};

inline ledger::ClientInfo client_info() {
  return {.id = kProducer,
          .name = "engine \"ä\"",
          .device = id<DeviceUuid>(0xd1),
          .device_name = "emu:0",
          .server = "boot",
          .domain = "nv0",
          .exchange = "/run/x.sock",
          .producer = true,
          .consumer = false,
          .pid = 4711};
}
inline Server server() {
  return {.name = "gpu7",
          .host = "gpu7.example",
          .version = "1.2.3",
          .coordinator = "https://gpu7.example:7071",
          .owner = id<ServerOwner>(0x0d),
          .clients = 3,
          .groups = 1,
          .lent_bytes = std::uint64_t{5} << 40,
          .held_bytes = 1 << 20};
}
inline ledger::Grant grant() {
  return {.slab = kSlab,
          .bytes = 2 << 20,
          .generation = 3,
          .secret = id<LeaseSecret>(0x5e),
          .exchange = "/run/x.sock",
          .expires = kNow + ledger::Time{4000}};
}
inline ledger::Slab slab() {
  ledger::Slab out;
  out.id = kSlab;
  out.bytes = 2 << 20;
  out.state = ledger::SlabState::revoking;
  out.generation = 3;
  out.holder = kConsumer;
  out.reclaim = 9;
  out.late = true;
  out.granted = 1;
  return out;
}
inline ledger::Reclaim reclaim() {
  ledger::Reclaim out;
  out.id = 9;
  out.producer = kProducer;
  out.bytes_wanted = 4 << 20;
  out.bytes_returned = 2 << 20;
  out.started = kNow - ledger::Time{100};
  out.deadline = kNow + ledger::Time{900};
  out.ended = kNow - ledger::Time{40};
  out.done = true;
  out.outstanding = {kSlab};
  return out;
}
inline ledger::Event event() {
  return {.number = 12,
          .kind = ledger::EventKind::revoke,
          .to = kConsumer,
          .slab = kSlab,
          .generation = 3,
          .deadline = kNow + ledger::Time{900},
          .reclaim = 9};
}
inline Snapshot snapshot() {
  return {.epoch = kEpoch,
          .last_event = 12,
          .own = {slab()},
          .held = {{.grant = grant(),
                    .state = ledger::SlabState::revoking,
                    .reclaim = 9,
                    .deadline = kNow + ledger::Time{900}}},
          .reclaims = {reclaim()}};
}
inline State state() {
  State out;
  out.epoch = kEpoch;
  out.last_event = 12;
  out.clients = {{.info = client_info(),
                  .state = ledger::ClientState::suspect,
                  .expires = kNow + ledger::Time{1},
                  .leases_expire = kNow + ledger::Time{2},
                  .draining = true,
                  .refused = {{.why = {Code::unavailable, "nothing is offered to it now"},
                               .at = kNow - ledger::Time{40}}}}};
  out.slabs = {slab(), slab()};
  out.slabs[1].granted = 0;
  out.pairs = {{kProducer, kConsumer}};
  out.reclaims = {reclaim()};
  return out;
}
inline OfferRequest offer_request() {
  return {{{.index = 7,
            .bytes = 2 << 20,
            .generation = 3,
            .secret = id<LeaseSecret>(0x5e),
            .holder = kConsumer}}};
}
inline ScrubbedReply scrubbed_reply() {
  ScrubbedReply out{.epoch = kEpoch, .results = {}};
  out.results.emplace_back(ledger::SlabState::offered);
  out.results.emplace_back(Error{Code::aborted, "stale"});
  return out;
}
inline ReturnReply return_reply() {
  ReturnReply out{.epoch = kEpoch, .results = {}};
  out.results.emplace_back();
  out.results.emplace_back(Error{Code::permission_denied, "not yours"});
  return out;
}

inline groups::Topology topology() {
  return {.prefill = {1, 2}, .decode = {2, 1}};
}
inline groups::Shape kv_shape() {
  return {.model = "llama", .dtype = "f16", .layout = "[block][token][head][dim]"};
}
inline groups::Group group() {
  groups::Group out;
  out.id = id<groups::GroupId>(0x96);
  out.name = "chat";
  out.creator = kProducer;
  out.user = 1000;
  out.topology = topology();
  out.shape = kv_shape();
  out.state = groups::State::resuming;
  out.term = 3;
  out.version = 17;
  out.members[kProducer] = {.client = kProducer,
                            .name = "engine",
                            .rank = groups::Rank{groups::Role::decode, 1, 0},
                            .order = 2,
                            .acknowledged = true,
                            .marks = {}};
  out.members[kConsumer] = {
      .client = kConsumer, .name = "spare", .rank = {}, .order = 3, .silent = true, .marks = {}};
  out.plan = groups::Plan{{{groups::Role::decode, 7, 40}},
                          {{{groups::Role::decode, 0, 0}, 7, kProducer, 41}}};
  return out;
}

// Its plan is not stored.
inline StoredGroup stored_group() {
  StoredGroup out{group()};
  out.group.server = "gpu7";
  out.group.creator_gone = true;
  out.group.joins = 5;
  groups::Member& member = out.group.members.at(kProducer);
  member.server = "gpu8";
  member.marks = {{{groups::Role::prefill, 0, 2}, 7, 40},
                  {{groups::Role::decode, 1, 0}, 7, std::uint64_t{1} << 40}};
  out.group.plan.reset();
  return out;
}

// check(sample) for every message.
template <typename Check>
void for_each(Check check) {
  check(Hello{.version = 1, .client = kProducer});
  check(Welcome{.epoch = kEpoch,
                .secret = id<SessionSecret>(0x77),
                .server = "boot",
                .client_ttl = ledger::Time{3000}});
  check(Info{.epoch = kEpoch,
             .version = "0.1.0",
             .server = "boot",
             .lifeline = "/run/l.sock",
             .client_ttl = ledger::Time{3000},
             .lease_ttl = ledger::Time{5000}});
  check(JoinRequest{client_info()});
  check(RenewReply{
      .epoch = kEpoch, .client_ttl = ledger::Time{3000}, .lease_ttl = ledger::Time{5000}});
  check(Ack{kEpoch});
  check(ErrorReply{.epoch = kEpoch, .error = {Code::unavailable, "away\nfor a while"}});
  check(Problem{.epoch = kEpoch, .status = 503, .error = {Code::unavailable, "away\nfor a while"}});
  check(offer_request());
  check(WithdrawRequest{{0, 1, 4'294'967'295}});
  check(ScrubbedRequest{{{.index = 7, .done = 3, .next_secret = id<LeaseSecret>(0x5f)}}});
  check(scrubbed_reply());
  check(ReclaimRequest{.bytes = 1 << 20, .within = ledger::Time{1000}});
  check(ReclaimReply{.epoch = kEpoch, .reclaim = reclaim(), .withdrawn = {kSlab}});
  check(LeaseRequest{.bytes = 1 << 20, .exit_bytes = 1 << 21});
  check(LeaseReply{.epoch = kEpoch, .grants = {grant()}});
  check(ReturnRequest{{{.slab = kSlab, .generation = 3}}});
  check(return_reply());
  check(snapshot());
  check(WatchReply{.epoch = kEpoch, .last_event = 12, .events = {event()}, .snapshot = snapshot()});
  check(PairRequest{{kProducer, kConsumer}});
  check(Pairs{.epoch = kEpoch, .pairs = {{kProducer, kConsumer}}});
  check(state());
  check(CreateGroupRequest{"chat", topology(), kv_shape(), true});
  check(JoinGroupRequest{"engine", kv_shape(), groups::Rank{groups::Role::decode, 1, 0}});
  check(AcknowledgeRequest{2, {{{groups::Role::decode, 1, 0}, 7, 40}}});
  check(ResumedRequest{2});
  check(GroupReply{kEpoch, group()});
  check(Groups{kEpoch, {group()}});
  check(stored_group());
  check(server());
  check(Servers{.epoch = kEpoch,
                .self = "gpu7",
                .shared = true,
                .fault = "etcd: no leader",
                .age = ledger::Time{1500},
                .servers = {server()}});
  check(SlabStory{.epoch = kEpoch,
                  .slab = kSlab,
                  .bytes = 2 << 20,
                  .forgotten = 1,
                  .entries = {{.at = kNow - ledger::Time{40},
                               .event = "grant",
                               .from = ledger::SlabState::offered,
                               .to = ledger::SlabState::leased,
                               .generation = 3,
                               .holder = kConsumer,
                               .holder_name = "engine",
                               .holder_pid = 4711,
                               .reclaim = 9}}});
  check(History{.epoch = kEpoch,
                .samples = {{.at = kNow - ledger::Time{40},
                             .offered = 1,
                             .leased = 2,
                             .suspect = 3,
                             .revoking = 4,
                             .orphaned = 5,
                             .quarantined = 6}}});
  check(RecallRequest{.producer = kProducer, .bytes = 1 << 20, .within = ledger::Time{1000}});
  check(DrainRequest{.client = kProducer, .within = ledger::Time{1000}});
}

}  // namespace aqua::wire::samples
