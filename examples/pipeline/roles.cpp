// SPDX-License-Identifier: Apache-2.0
#include "roles.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "child_process.hpp"
#include "daemon_program.hpp"
#include "must.hpp"
#include "serve/lease.hpp"
#include "serve/stage.hpp"

namespace aqua::pipeline {
namespace {

using namespace aqua::literals;

template <typename Message>
void say(const Message& message) {
  if (!example::write_line(STDOUT_FILENO, message))
    throw example::Failure("the orchestrator hears no more");
}

// Wired under one term. Returns what run() does; where a neighbour dies, the next order to wire
// anew, which the orchestrator gives then.
std::optional<Rewire> serve(Stage& stage, const Options& options, unsigned term, Orders& orders) {
  try {
    stage.seal();
    Wiring wiring(options.place, options.directory, term);
    stage.named_step().reached("listening");
    say(Wired{.term = term, .connected = false});
    Survey survey;
    auto order = orders.next();
    if (order && order->contains("survey")) {
      survey = order->get<Survey>();
      const Surveyed surveyed = stage.survey(survey);
      stage.named_step().reached("surveyed");
      say(surveyed);
      order = orders.next();
    }
    if (!order) return {};
    if (order->contains("listen")) return order->get<Rewire>();
    stage.resume(order->get<Connect>(), survey);
    wiring.connect(orders);
    stage.named_step().reached("connected");
    say(Wired{.term = term, .connected = true});
    return stage.run(wiring, orders);
  } catch (const NeighbourGone&) {
    // Its own links are closed by now: those who wait for this process hear of it, too.
  }
  while (const auto order = orders.next()) {
    if (order->contains("listen")) return order->get<Rewire>();
  }
  return {};
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
  if (options.keeper_role) example::become_keeper(options.keeper, options.directory);
  if (options.courier_role) {
    enter(options.network);
    example::become_courier(options.courier, options.directory / "courier.json");
  }
  std::optional<Lease> lease;  // outlives all that has to be taken down
  if (options.ttl_ms > 0)
    lease.emplace(options.directory, std::chrono::milliseconds(options.ttl_ms));
  Runtime runtime = example::must(Runtime::open({.device = "emu:0",
                                                 .coordinator = "none",
                                                 .host_bytes = 2_MiB,
                                                 .curve_directory = "off"}),
                                  "runtime");
  Orders orders(STDIN_FILENO);
  Options taken = options;
  if (options.standby) {
    say(nlohmann::json{{"stands_by", true}});
    const auto order = orders.next();
    if (!order) return 0;  // it was not needed
    const auto place = order->get<TakePlace>();
    taken.place.stage = place.stage;
    taken.place.rank = place.rank;
    taken.term = place.term;
  }
  Stage stage(runtime, taken);
  for (std::optional<Rewire> next{{taken.term}}; next;)
    next = serve(stage, taken, next->listen, orders);
  return 0;
}

}  // namespace aqua::pipeline
