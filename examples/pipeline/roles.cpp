// SPDX-License-Identifier: Apache-2.0
#include "roles.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "daemon_program.hpp"
#include "hosts/etcd.hpp"
#include "hosts/namespaces.hpp"
#include "must.hpp"
#include "serve/membership.hpp"
#include "serve/stage.hpp"

namespace aqua::pipeline {
namespace {

using namespace aqua::literals;

template <typename Message>
void say(const Message& message) {
  if (!example::write_line(STDOUT_FILENO, message))
    throw example::Failure("the orchestrator hears no more");
}

std::optional<Word> next_term(Orders& orders) {
  while (const auto order = orders.next()) {
    if (order->contains("listen")) return order->get<Rewire>().listen;
  }
  return {};
}

// In one term of the group. Returns the next term to act in, where a neighbour dies the one that
// the group begins then; nothing where there is no more to do.
std::optional<Word> serve(Stage& stage, const Options& options, Membership& membership, Word term,
                          Orders& orders) {
  try {
    stage.seal(term);
    Wiring wiring(options.place, options.directory, options.address, term);
    stage.named_step().reached("listening");
    say(Wired{.term = term, .connected = false, .address = wiring.address()});
    Survey survey;
    auto order = orders.next_of(term);
    if (order && order->contains("survey")) {
      survey = order->get<Survey>();
      const Surveyed surveyed = stage.survey(survey);
      stage.named_step().reached("surveyed");
      membership.acknowledge(term, survey, surveyed);
      say(surveyed);
      stage.named_step().reached("acknowledged");
      order = orders.next_of(term);
    }
    if (!order) return {};
    if (order->contains("listen")) return order->get<Rewire>().listen;
    const auto connect = order->get<Connect>();
    if (!membership.await_plan(connect)) return next_term(orders);
    stage.resume(connect, survey);
    membership.resumed(term);
    wiring.connect(orders, connect.addresses);
    stage.named_step().reached("connected");
    say(Wired{.term = term, .connected = true, .address = wiring.address()});
    const auto next = stage.run(wiring, orders, term);
    return next ? std::optional(next->listen) : std::nullopt;
  } catch (const NeighbourGone&) {
    // Its own links are closed by now: those who wait for this process hear of it, too.
  }
  return next_term(orders);
}

// A namespace of the network, as `ip netns` names it.
void enter(const std::string& network) {
  if (network.empty()) return;
  const std::string path = "/run/netns/" + network;
  const example::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0 || ::setns(fd.get(), CLONE_NEWNET) != 0)
    throw example::Failure(path + ": " + std::strerror(errno));
}

}  // namespace

int run_role(const Options& options) {
  example::die_with_parent(options.parent);
  if (options.enter != 0) enter_host(options.enter);
  if (options.host_role) return become_host(options.server, options.directory);
  if (options.etcd_role) become_etcd(options);
  if (options.keeper_role) example::become_keeper(options.keeper, options.directory);
  if (options.coordinator_role) {
    std::vector<std::string> more;
    if (options.ttl_ms > 0) {
      for (const char* ttl : {"--client-ttl", "--lease-ttl"})
        more.insert(more.end(), {ttl, std::to_string(options.ttl_ms)});
    }
    if (!options.etcd.empty()) {
      more.insert(more.end(), {"--etcd", options.etcd, "--server", options.server, "--server-ttl",
                               std::to_string(options.server_ttl_ms)});
    }
    example::become_coordinator(options.coordinator_program, options.directory, more);
  }
  if (options.courier_role) {
    enter(options.network);
    example::become_courier(options.courier, options.directory / "courier.json");
  }
  Runtime runtime = example::must(Runtime::open({.device = "emu:0",
                                                 .coordinator = options.coordinator,
                                                 .name = options.member,
                                                 .host_bytes = 2_MiB,
                                                 .socket_directory = options.directory,
                                                 .curve_directory = "off"}),
                                  "runtime");
  Membership membership(runtime, options);
  Orders orders(STDIN_FILENO, membership.terms());
  auto term = next_term(orders);
  if (!term) return 0;  // it stood by, and was not needed
  Options taken = options;
  const GroupNews news = membership.news();
  taken.place.stage = news.rank->stage;
  taken.place.rank = news.rank->tensor;
  taken.term = *term;
  taken.life = news.group;
  Stage stage(runtime, taken);
  while (term) term = serve(stage, taken, membership, *term, orders);
  return 0;
}

}  // namespace aqua::pipeline
