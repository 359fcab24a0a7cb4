// SPDX-License-Identifier: Apache-2.0
// What leases cost in memory, and whether a request costs the same whatever the number of
// clients and of leases: the daemon's processor time for each.
#include <algorithm>
#include <cstdio>
#include <deque>

#include "coordinator_bench/closed_loop.hpp"
#include "coordinator_bench/parts.hpp"

namespace aqua::bench {
namespace {

using nlohmann::json;

constexpr std::size_t kWidth = 16;  // requests under way

class Crowd {
 public:
  explicit Crowd(const BenchOptions& options)
      : options_(options),
        daemon_(options.binary, daemon_arguments(), options.directory),
        server_(server_of(daemon_)) {
    while (active_.size() < kWidth) {
      const Couple& couple = active_.emplace_back(daemon_.directory());
      couple.producer.offer(0, Borrower::kSlabs);
      borrowers_.push_back(std::make_unique<Borrower>(couple));
    }
  }

  // The cost of a renewal, asked by all of `who` in turn, and of borrowing by the same few.
  json measure(const std::deque<Session>& who) {
    Actors renewers;
    for (std::size_t i = 0; i < std::max(who.size(), kWidth); ++i)
      renewers.push_back(std::make_unique<Renewer>(who[i % who.size()]));
    return {{"renewal_us", closed_loop(server_, renewers, kWidth, options_.measure).cpu_us},
            {"borrow_us", closed_loop(server_, borrowers_, kWidth, options_.measure).cpu_us}};
  }
  [[nodiscard]] const std::string& directory() const { return daemon_.directory(); }
  [[nodiscard]] std::size_t resident() const { return resident_bytes(server_.pid); }

 private:
  const BenchOptions& options_;
  const Coordinator daemon_;
  const Server server_;
  std::deque<Couple> active_;
  Actors borrowers_;
};

json by_clients(const BenchOptions& options) {
  Crowd crowd(options);
  std::deque<Session> clients;
  json rows;
  for (const std::size_t count : {1UL, 4UL, 16UL, 64UL, 256UL, 1024UL}) {
    std::fprintf(stderr, "scale: %zu clients\n", count);
    while (clients.size() < count)
      clients.emplace_back(crowd.directory(), Session::Part::consumer, "idle");
    json row = crowd.measure(clients);
    row["clients"] = count;
    rows.push_back(std::move(row));
  }
  return rows;
}

json by_leases(const BenchOptions& options) {
  Crowd crowd(options);
  constexpr std::size_t kHolders = 10;
  constexpr std::uint32_t kBatch = 1000;
  std::deque<Session> lenders;
  std::deque<Session> holders;
  for (std::size_t i = 0; i < kHolders; ++i) {
    const std::string domain = "lent " + std::to_string(i);
    lenders.emplace_back(crowd.directory(), Session::Part::producer, domain);
    holders.emplace_back(crowd.directory(), Session::Part::consumer, domain);
  }
  json rows;
  std::uint32_t each = 0;  // leases of one holder
  for (const std::uint32_t wanted : {1U, 10U, 100U, 1000U, 10'000U}) {
    std::fprintf(stderr, "scale: %zu leases\n", wanted * kHolders);
    for (; each < wanted; each += std::min(kBatch, wanted - each)) {
      for (std::size_t i = 0; i < kHolders; ++i) {
        lenders[i].offer(each, std::min(kBatch, wanted - each));
        holders[i].borrow(std::min(kBatch, wanted - each));
      }
    }
    const std::size_t resident = crowd.resident();
    json row = crowd.measure(holders);
    row["leases"] = wanted * kHolders;
    row["resident_bytes"] = resident;
    rows.push_back(std::move(row));
  }
  return rows;
}

// The dearest over the cheapest.
double spread(const json& rows, const char* what) {
  double least = rows.front()[what];
  double most = least;
  for (const json& row : rows) {
    least = std::min<double>(least, row[what]);
    most = std::max<double>(most, row[what]);
  }
  return most / least;
}

}  // namespace

json measure_scale(const BenchOptions& options) {
  json result{{"by_clients", by_clients(options)}, {"by_leases", by_leases(options)}};
  const json& rows = result["by_leases"];
  const double bytes =
      rows.back()["resident_bytes"].get<double>() - rows.front()["resident_bytes"].get<double>();
  const double leases = rows.back()["leases"].get<double>() - rows.front()["leases"].get<double>();
  result["bytes_per_1000_leases"] = bytes / leases * 1000;
  for (const char* by : {"by_clients", "by_leases"}) {
    for (const char* what : {"renewal_us", "borrow_us"})
      result["spread"][by][what] = spread(result[by], what);
  }
  return result;
}

}  // namespace aqua::bench
