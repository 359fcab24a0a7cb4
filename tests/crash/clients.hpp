// SPDX-License-Identifier: Apache-2.0
// Producers and consumers of a coordinator that dies all the time. Each works until it gets no
// answer any more, in a thread that the test gives it; in the next life it connects again, as
// libaqua's runtime would: joins, declares, reads its snapshot.
//
// Threads: live() of each client from one thread at a time; the exporter's book is shared.
#pragma once

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/concat.hpp"
#include "base/mutex.hpp"
#include "lending/slab_book.hpp"
#include "southbound/http_call.hpp"
#include "southbound/lifeline.hpp"
#include "tests/crash/records.hpp"
#include "wire/clients.hpp"
#include "wire/events.hpp"
#include "wire/problem.hpp"
#include "wire/slabs.hpp"

namespace aqua::crash_test {

// Where the coordinator of this life is, and how far the life is.
struct Life {
  std::string address;
  std::string lifeline;
  std::atomic<bool> ending{false};  // it may be dead by now: no answer is no wonder
  std::atomic<bool> over{false};
};

class CrashClient {
 public:
  CrashClient(Records& records, bool producer, std::uint64_t seed);
  virtual ~CrashClient() = default;
  CrashClient(const CrashClient&) = delete;
  CrashClient& operator=(const CrashClient&) = delete;

  // Returns when the coordinator does not answer any more, or life.over; a violation when that
  // is before life.ending.
  void live(Life& life);
  // Connects, joins and reconciles; then nothing more. False when there was no answer.
  [[nodiscard]] bool settle(Life& life);
  [[nodiscard]] const ClientId& id() const { return id_; }

 protected:
  virtual bool begin() = 0;  // after joining; false: no answer
  virtual bool act() = 0;    // one thing, drawn at random; false: no answer

  // nullopt: no answer. An error reply is an answer, one that cannot be read a violation.
  template <typename Reply>
  std::optional<Result<Reply>> call(const char* method, const std::string& target,
                                    const std::string& body = {}) {
    const auto text = send(method, target, body);
    if (!text) return std::nullopt;
    if (text->status == 200) {
      auto reply = wire::decode<Reply>(text->body, ledger::Time{0});
      if (reply.ok()) return reply;
    } else {
      auto refusal = wire::decode<wire::Problem>(text->body);
      if (refusal.ok()) return Result<Reply>(std::move(refusal->error));
    }
    records_.broken(concat(method, " ", target, " was answered ", text->status, " ", text->body));
    return std::nullopt;
  }
  [[nodiscard]] std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

  Records& records_;

 private:
  [[nodiscard]] bool connect(Life& life);
  [[nodiscard]] std::optional<southbound::HttpReply> send(const char* method,
                                                          const std::string& target,
                                                          const std::string& body);

  const ClientId id_ = random_id<ClientTag>();
  const DeviceUuid device_ = random_id<DeviceTag>();
  const bool producer_;
  std::mt19937_64 random_;
  std::string address_;
  southbound::Lifeline session_;
};

class Exporter final : public CrashClient {
 public:
  Exporter(Records& records, std::uint64_t seed) : CrashClient(records, true, seed) {}

  // What the exchange socket would say.
  [[nodiscard]] bool fetch(const ClientId& consumer, const ledger::Grant& grant);
  void give_back(const ClientId& consumer, const ledger::Grant& grant);
  [[nodiscard]] std::vector<lending::SlabStatus> book() const;

 protected:
  bool begin() override;
  bool act() override;

 private:
  bool put_up();
  bool take_back();
  bool reclaim();
  bool scrub();      // what waits for it
  bool reconcile();  // with the coordinator's rows, as lender.cpp does
  bool report(const lending::SlabStatus& clean);
  bool forget(const ledger::Slab& row);
  void bring_home(std::uint32_t index);
  [[nodiscard]] SlabId slab(std::uint32_t index) const { return {id(), index}; }

  mutable Mutex mu_;
  lending::SlabBook book_ AQUA_GUARDED_BY(mu_);
};

class Importer final : public CrashClient {
 public:
  Importer(Records& records, std::map<ClientId, Exporter*> exporters, std::uint64_t seed)
      : CrashClient(records, false, seed), exporters_(std::move(exporters)) {}

  [[nodiscard]] std::vector<ledger::Grant> held() const { return held_; }

 protected:
  bool begin() override;
  bool act() override;

 private:
  bool borrow();
  bool take(const ledger::Grant& grant);
  bool give_back(const ledger::Grant& grant);

  const std::map<ClientId, Exporter*> exporters_;
  std::vector<ledger::Grant> held_;  // mapped
};

}  // namespace aqua::crash_test
