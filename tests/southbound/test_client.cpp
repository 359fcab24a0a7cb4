// SPDX-License-Identifier: Apache-2.0
// A process for tests to stop and kill: joins, leases or offers, says so, and waits to be ended.
//
//   aqua_test_client lease ADDRESS ID BYTES   with southbound::Client
//   aqua_test_client offer ADDRESS ID COUNT   as a producer, slabs of one byte
//   aqua_test_client group ADDRESS ID STAGE   a member of the group "pipeline" of two stages (2: a
//                                             standby), which recovers as it is told, and says
//                                             "running TERM STAGE" whenever it may go on
//   aqua_test_client fork ADDRESS ID BYTES    by hand; then forks a child that keeps the
//                                             lifeline open, and says its pid
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/socket/unix_socket.hpp"
#include "southbound/client.hpp"
#include "southbound/http_call.hpp"
#include "wire/clients.hpp"
#include "wire/limits.hpp"

namespace {

using namespace aqua;

constexpr unsigned kLifetimeSeconds = 120;  // should the test be gone

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "aqua_test_client: %s\n", message.c_str());
  std::exit(1);
}

void say(const char* format, long number) {
  std::printf(format, number);
  std::fflush(stdout);
}

ledger::ClientInfo info_of(const ClientId& id, bool producer = false) {
  ledger::ClientInfo info;
  info.id = id;
  info.name = "test client";
  info.device = random_id<DeviceTag>();
  info.domain = "test";
  info.producer = producer;
  info.consumer = !producer;
  return info;
}

struct Ready : southbound::Listener {
  void on_connected(const southbound::Session&) override {}
  void on_snapshot(const wire::Snapshot&) override {
    const std::lock_guard lock(mu);
    ready = true;
    ++snapshots;
    changed.notify_all();
  }
  void on_events(std::span<const ledger::Event>) override {}
  void on_disconnected(const Error&) override {}
  void on_unreachable(const Error&) override {}
  std::mutex mu;
  std::condition_variable changed;
  bool ready = false;
  int snapshots = 0;
};

std::unique_ptr<southbound::Client> connect(const std::string& address,
                                            const ledger::ClientInfo& info, Ready& ready) {
  southbound::Options options;
  options.coordinator = address;
  options.info = info;
  auto client = southbound::Client::open(options, ready);
  if (!client.ok()) fail(client.error().message);
  std::unique_lock lock(ready.mu);
  ready.changed.wait(lock, [&] { return ready.ready; });
  return std::move(client).value();
}

[[noreturn]] void lease_as_client(const std::string& address, const ClientId& id,
                                  std::uint64_t bytes) {
  Ready ready;
  const auto client = connect(address, info_of(id), ready);
  const auto grants = client->lease(bytes, bytes);
  if (!grants.ok()) fail(grants.error().message);
  say("leased %ld\n", static_cast<long>(grants->size()));
  for (;;) ::pause();
}

[[noreturn]] void offer_as_client(const std::string& address, const ClientId& id,
                                  std::uint64_t count) {
  Ready ready;
  const auto client = connect(address, info_of(id, true), ready);
  std::vector<ledger::OfferedSlab> slabs(count);
  for (std::size_t i = 0; i < count; ++i) {
    slabs[i].index = static_cast<std::uint32_t>(i);
    slabs[i].bytes = 1;
    slabs[i].secret = random_id<LeaseTag>();
  }
  const auto offered = client->offer(slabs);
  if (!offered.ok()) fail(offered.error().message);
  say("offered %ld\n", static_cast<long>(count));
  for (;;) ::pause();
}

// What the group is, asked until there is an answer: the coordinator may be away for a while.
groups::Group follow(Ready& ready, const std::function<Result<groups::Group>()>& call) {
  for (;;) {
    int seen = 0;
    {
      const std::lock_guard lock(ready.mu);
      seen = ready.snapshots;
    }
    auto group = call();
    if (group.ok()) return *std::move(group);
    if (group.error().code != Code::unavailable && group.error().code != Code::aborted)
      fail(group.error().message);
    std::unique_lock lock(ready.mu);
    ready.changed.wait_for(lock, std::chrono::milliseconds{100},
                           [&] { return ready.snapshots > seen; });
  }
}

[[noreturn]] void be_a_member(const std::string& address, const ClientId& id, std::uint32_t stage) {
  using groups::Rank;
  using groups::Role;
  using groups::State;
  Ready ready;
  const auto client = connect(address, info_of(id), ready);
  const groups::Shape shape{.model = "m", .dtype = "f16", .layout = "l"};
  const groups::GroupId group_id =
      follow(ready, [&] {
        return client->create_group({"pipeline", {.prefill = {}, .decode = {2, 1}}, shape, true});
      }).id;
  const auto rank = stage < 2 ? std::optional(Rank{Role::decode, stage, 0}) : std::nullopt;
  follow(ready, [&] { return client->join_group(group_id, {"member", shape, rank}); });
  say("joined %ld\n", static_cast<long>(stage));
  groups::Term said = 0;
  std::optional<std::uint64_t> version;
  Epoch epoch = client->status().epoch;
  for (;;) {
    if (const Epoch now = client->status().epoch; now != epoch) {
      epoch = now;
      version.reset();
    }
    groups::Group group = follow(ready, [&] {
      return client->watch_group(group_id, version, std::chrono::milliseconds{1000});
    });
    version = group.version;
    const auto found = group.members.find(id);
    if (found == group.members.end()) {
      std::puts("replaced");
      std::exit(0);
    }
    const groups::Member& self = found->second;
    if (!self.rank) continue;
    const groups::Term term = group.term;
    const bool recovers = group.state == State::sealing || group.state == State::waiting;
    if (recovers && !self.acknowledged) {
      // Its own, and the replica of the other stage's.
      const std::uint32_t own = self.rank->stage;
      (void)client->acknowledge_term(
          group_id, {term, {{*self.rank, 7, 40}, {{Role::decode, 1 - own, 0}, 7, 38}}});
    } else if (group.state == State::resuming && !self.resumed) {
      (void)client->group_resumed(group_id, term);
    } else if (group.state == State::running && said != term) {
      said = term;
      std::printf("running %lu %u\n", static_cast<unsigned long>(term), self.rank->stage);
      std::fflush(stdout);
    }
  }
}

std::string ask(const std::string& address, const southbound::HttpRequest& request) {
  const auto deadline = southbound::Clock::now() + std::chrono::seconds{60};
  auto outcome =
      southbound::http_call(wire::parse_address(address).value(), request, deadline, nullptr);
  if (!outcome.reply) fail(outcome.error.message);
  if (outcome.reply->status != 200) fail(outcome.reply->body);
  return outcome.reply->body;
}

[[noreturn]] void lease_and_fork(const std::string& address, const ClientId& id,
                                 std::uint64_t bytes) {
  const auto info = wire::decode<wire::Info>(ask(address, {"GET", "/v1/info", {}, {}})).value();
  // A plain descriptor, which a child inherits.
  const UniqueFd lifeline = connect_seqpacket(info.lifeline).value();
  const std::string hello = wire::encode(wire::Hello{.client = id});
  if (!send_message(lifeline.get(), std::as_bytes(std::span(hello)), {}, std::chrono::seconds{60})
           .ok())
    fail("hello");
  const Message answer =
      receive_message(lifeline.get(), wire::kMaxHelloBytes, std::chrono::seconds{60}).value();
  const auto welcome =
      wire::decode<wire::Welcome>(
          {reinterpret_cast<const char*>(answer.bytes.data()), answer.bytes.size()})
          .value();
  wire::JoinRequest join{info_of(id)};
  join.info.server = welcome.server;
  ask(address, {"POST", "/v1/clients", welcome.secret, wire::encode(join)});
  const std::string lease = wire::encode(wire::LeaseRequest{bytes, bytes});
  const auto grants =
      wire::decode<wire::LeaseReply>(ask(address, {"POST", "/v1/leases", welcome.secret, lease}))
          .value();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, 0);
    ::alarm(kLifetimeSeconds);
    for (;;) ::pause();
  }
  say("leased %ld\n", static_cast<long>(grants.grants.size()));
  say("child %ld\n", child);
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) fail("usage: lease|offer|group|fork ADDRESS ID NUMBER");
  ::alarm(kLifetimeSeconds);
  const auto id = parse_id<ClientTag>(argv[3]);
  if (!id.ok()) fail(id.error().message);
  const std::uint64_t bytes = std::strtoull(argv[4], nullptr, 10);
  if (std::string(argv[1]) == "lease") lease_as_client(argv[2], *id, bytes);
  if (std::string(argv[1]) == "offer") offer_as_client(argv[2], *id, bytes);
  if (std::string(argv[1]) == "group") be_a_member(argv[2], *id, static_cast<std::uint32_t>(bytes));
  if (std::string(argv[1]) == "fork") lease_and_fork(argv[2], *id, bytes);
  fail("unknown mode");
}
