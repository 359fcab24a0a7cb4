// SPDX-License-Identifier: Apache-2.0
// Requests a second that the daemon answers when all clients ask without a pause, over what a
// bare server answers with the same bytes.
#include <cstdio>
#include <deque>
#include <map>

#include "coordinator_bench/bare_server.hpp"
#include "coordinator_bench/closed_loop.hpp"
#include "coordinator_bench/parts.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

using nlohmann::json;

std::deque<Couple> couples_of(const Coordinator& daemon, std::size_t count) {
  std::deque<Couple> couples;
  while (couples.size() < count) couples.emplace_back(daemon.directory());
  return couples;
}

// What the daemon answers to each request, for the bare server to say after it.
std::map<std::string, std::string> answers_of(const Couple& couple) {
  const Session& producer = couple.producer;
  const Session& consumer = couple.consumer;
  producer.offer(100'000, 1);
  std::map<std::string, std::string> answers;
  const auto note = [&](const Session& who, const char* target, const std::string& body) {
    return answers[target] = who.call("POST", target, body);
  };
  note(consumer, "/v1/clients/self/renew", "");
  const std::string slab = "\"index\":100000,\"generation\":1";
  note(consumer, "/v1/leases", R"({"bytes":1,"exit_bytes":1073741824})");
  note(consumer, "/v1/leases/return",
       "{\"leases\":[{\"producer\":\"" + to_string(producer.id()) + "\"," + slab + "}]}");
  note(producer, "/v1/offers/scrubbed",
       "{\"slabs\":[{\"index\":100000,\"generation\":1,\"next_secret\":\"" +
           to_string(random_id<LeaseTag>()) + "\"}]}");
  producer.call("POST", "/v1/offers/withdraw", R"({"indexes":[100000]})");
  return answers;
}

Actors actors_of(const std::deque<Couple>& couples, bool borrow) {
  Actors actors;
  for (const Couple& couple : couples) {
    if (borrow) {
      actors.push_back(std::make_unique<Borrower>(couple));
    } else {
      actors.push_back(std::make_unique<Renewer>(couple.consumer));
    }
  }
  return actors;
}

struct Case {
  const char* name;
  bool borrow;
  const char* survives;
};

json measure(const BenchOptions& options, const Case& what) {
  const Coordinator daemon(options.binary, daemon_arguments({"--leases-survive", what.survives}),
                           options.directory);
  const std::deque<Couple> couples = couples_of(daemon, options.clients);
  const BareServer bare(daemon.directory(), answers_of(couples.front()));
  if (what.borrow) {
    for (const Couple& couple : couples) couple.producer.offer(0, Borrower::kSlabs);
  }
  const Actors actors = actors_of(couples, what.borrow);
  const Actors apart = actors_of(couples, what.borrow);  // the bare server's answers are no leases
  json row{{"what", what.name}, {"clients", options.clients}};
  std::vector<double> of_daemon;
  std::vector<double> of_bare;
  std::vector<double> cpu_of_daemon;
  std::vector<double> cpu_of_bare;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    std::fprintf(stderr, "saturation: %s, round %zu of %zu\n", what.name, round + 1,
                 options.rounds);
    const Load daemons = closed_loop(server_of(daemon), actors, actors.size(), options.measure);
    const Load bares = closed_loop(bare.server(), apart, apart.size(), options.measure);
    of_daemon.push_back(daemons.per_second);
    of_bare.push_back(bares.per_second);
    cpu_of_daemon.push_back(daemons.cpu_us);
    cpu_of_bare.push_back(bares.cpu_us);
    row["daemon"].push_back(to_json(daemons));
    row["bare"].push_back(to_json(bares));
  }
  row["over_bare"] = median(ratios(of_daemon, of_bare));
  row["least_over_bare"] = quantile(ratios(of_daemon, of_bare), 0);
  row["cpu_over_bare"] = median(ratios(cpu_of_daemon, cpu_of_bare));
  return row;
}

}  // namespace

json measure_saturation(const BenchOptions& options) {
  json rows;
  for (const Case& what :
       {Case{"renewals", false, "process"}, Case{"lease_return", true, "process"},
        Case{"durable_lease_return", true, "host"}}) {
    rows.push_back(measure(options, what));
  }
  return rows;
}

}  // namespace aqua::bench
