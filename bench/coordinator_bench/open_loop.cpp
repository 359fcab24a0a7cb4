// SPDX-License-Identifier: Apache-2.0
// 1,000 requests a second that come when they are due, whether or not the ones before are
// answered: renewals and durable grants mixed, and revocations meanwhile. Times count from when
// a request was due.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>

#include "base/unique_fd.hpp"
#include "coordinator_bench/actor.hpp"
#include "coordinator_bench/parts.hpp"
#include "coordinator_bench/revocation.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

using nlohmann::json;

constexpr double kRate = 1000;  // of renewals, leases and returns a second
constexpr std::chrono::milliseconds kBetweenRevocations{50};
constexpr std::size_t kRevocations = 16;  // couples that take turns
constexpr int kProbes = 1000;

double ms(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

json summary(const std::vector<double>& times_ms) {
  if (times_ms.empty()) std::exit((std::fputs("open loop: nothing was measured\n", stderr), 1));
  return {{"count", times_ms.size()},
          {"median_ms", median(times_ms)},
          {"p99_ms", quantile(times_ms, 0.99)},
          {"max_ms", quantile(times_ms, 1)}};
}

// One fdatasync() of a page appended, time after time.
void probe_disk(const std::string& directory, std::vector<double>& times_ms) {
  const std::string path = directory + "/probe";
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const std::vector<char> page(4096, 'x');
  for (int i = 0; i < kProbes; ++i) {
    const auto before = Clock::now();
    if (::write(file.get(), page.data(), page.size()) < 0 || ::fdatasync(file.get()) != 0)
      std::exit((std::perror("fdatasync"), 1));
    times_ms.push_back(ms(Clock::now() - before));
  }
  ::unlink(path.c_str());
}

class OpenLoop {
 public:
  OpenLoop(const Coordinator& daemon, std::size_t couples) : server_(server_of(daemon)) {
    while (couples_.size() < couples) {
      const Couple& couple = couples_.emplace_back(daemon.directory());
      couple.producer.offer(0, Borrower::kSlabs);
      renewers_.push_back(&renewer_room_.emplace_back(couple.consumer));
      borrowers_.push_back(&borrower_room_.emplace_back(couple));
    }
    while (watched_.size() < kRevocations) watched_.emplace_back(daemon.directory());
    for (const Couple& couple : watched_)
      revocations_.emplace_back(http_, server_, couple, revoked_ms_);
  }

  // The first fifth is thrown away.
  void run(Clock::duration duration) {
    pass(duration / 5);
    for (auto& times : times_ms_) times.clear();
    revoked_ms_.clear();
    missed_ = 0;
    pass(duration);
  }
  [[nodiscard]] json result() const {
    return {{"renewals", summary(times_ms_[static_cast<std::size_t>(Kind::renewal)])},
            {"durable_grants", summary(times_ms_[static_cast<std::size_t>(Kind::lease)])},
            {"returns", summary(times_ms_[static_cast<std::size_t>(Kind::give_back)])},
            {"revocations", summary(revoked_ms_)},
            {"revocations_not_ready", missed_}};
  }

 private:
  void pass(Clock::duration duration) {
    const auto end = Clock::now() + duration;
    auto due = Clock::now();
    auto revocation_due = due;
    while (due < end) {
      for (const auto now = Clock::now(); due <= now; due += gap()) arrive(due);
      for (; revocation_due <= Clock::now(); revocation_due += kBetweenRevocations)
        revoke(revocation_due);
      http_.turn(std::min(due, revocation_due));
    }
    // What came is answered, however late: what is slowest would else be left out.
    while (!settled()) http_.turn(Clock::now() + kBetweenRevocations);
  }
  [[nodiscard]] bool settled() const {
    return renewals_due_.empty() && borrowings_due_.empty() &&
           renewers_.size() == renewer_room_.size() && borrowers_.size() == borrower_room_.size() &&
           std::all_of(revocations_.begin(), revocations_.end(),
                       [](const Revocation& one) { return one.ready(); });
  }
  // Poisson arrivals.
  Clock::duration gap() {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(between_(random_)));
  }
  void arrive(Clock::time_point due) {
    const bool renew = coin_(random_);
    (renew ? renewals_due_ : borrowings_due_).push_back(due);
    serve(renew);
  }
  // What is due waits for a client that is not waiting itself; its time runs.
  void serve(bool renew) {
    auto& due = renew ? renewals_due_ : borrowings_due_;
    auto& idle = renew ? renewers_ : borrowers_;
    while (!due.empty() && !idle.empty()) {
      Actor* const actor = idle.front();
      idle.pop_front();
      ask(actor, due.front());
      due.pop_front();
    }
  }
  void ask(Actor* actor, Clock::time_point due) {
    const Kind kind = actor->next().kind;
    http_.ask(server_.address, actor->next().text, [this, actor, due, kind](const Reply& reply) {
      if (reply.status != 200) {
        std::fprintf(stderr, "open loop: status %d: %.*s\n", reply.status,
                     static_cast<int>(reply.body.size()), reply.body.data());
        std::exit(1);
      }
      times_ms_[static_cast<std::size_t>(kind)].push_back(ms(reply.at - due));
      actor->took(reply);
      // Upkeep is nobody's request: it comes on top, at once.
      if (actor->next().kind == Kind::upkeep) return ask(actor, Clock::now());
      const bool renewed = kind == Kind::renewal;
      (renewed ? renewers_ : borrowers_).push_back(actor);
      serve(renewed);
    });
  }
  void revoke(Clock::time_point due) {
    Revocation& revocation = revocations_[turn_++ % revocations_.size()];
    if (revocation.ready()) {
      revocation.reclaim(due);
    } else {
      ++missed_;
    }
  }

  HttpLoop http_;
  const Server server_;
  std::deque<Couple> couples_;
  std::deque<Renewer> renewer_room_;
  std::deque<Borrower> borrower_room_;
  std::deque<Actor*> renewers_;  // idle
  std::deque<Actor*> borrowers_;
  std::deque<Clock::time_point> renewals_due_;
  std::deque<Clock::time_point> borrowings_due_;
  std::deque<Couple> watched_;
  std::deque<Revocation> revocations_;
  std::array<std::vector<double>, kKinds> times_ms_;
  std::vector<double> revoked_ms_;
  std::size_t missed_ = 0;
  std::size_t turn_ = 0;
  std::minstd_rand random_{1};
  std::exponential_distribution<> between_{kRate};
  std::bernoulli_distribution coin_{0.5};
};

}  // namespace

json measure_open_loop(const BenchOptions& options) {
  const Coordinator daemon(options.binary, daemon_arguments({"--leases-survive", "host"}),
                           options.directory);
  std::vector<double> disk_ms;
  std::fprintf(stderr, "open loop: the disk\n");
  probe_disk(daemon.directory(), disk_ms);
  std::fprintf(stderr, "open loop: %lld ms at %.0f requests a second\n",
               static_cast<long long>(options.open_loop.count()), kRate);
  OpenLoop loop(daemon, options.clients);
  loop.run(options.open_loop);
  json result = loop.result();
  probe_disk(daemon.directory(), disk_ms);
  result["fdatasync"] = summary(disk_ms);
  result["requests_per_second"] = kRate;
  return result;
}

}  // namespace aqua::bench
