// SPDX-License-Identifier: Apache-2.0
// A producer at the steady load that its profile was made of: once that has lasted, report()
// decides to lend what the profile says is free.
#include <unistd.h>

#include <atomic>

#include "json_lines.hpp"
#include "kv_chunks.hpp"
#include "must.hpp"
#include "roles.hpp"

namespace aqua::example {
namespace {

using namespace aqua::literals;
using std::chrono::milliseconds;

// For memory and times of a thirtieth of a real engine's. Runtime::open() has set the profile with
// the defaults, which suit those.
constexpr ProducerOptions kPolicy{.settle_time = milliseconds(500),
                                  .min_time_between_flips = milliseconds(1000),
                                  .headroom = 0.02,
                                  .min_offer_bytes = kPlacedSlabBytes};
constexpr milliseconds kReportPeriod{100};

class Lender {
 public:
  Lender(const PlacedOptions& options, const Profile& profile)
      : profile_(profile),
        runtime_(open(options)),
        chunks_(runtime_, kPlacedSlabBytes, 1),
        commands_(STDIN_FILENO) {
    must(runtime_.set_profile(to_load_profile(profile_), kPolicy), "set_profile");
    while (chunks_.take(profile_.kv_bytes)) {
    }
  }

  void run() {
    (void)write_line(STDOUT_FILENO, {{"say", "ready"}});
    while (!finished_) {
      obey();
      if (going_) report();
    }
    chunks_.check_all();
    (void)write_line(STDOUT_FILENO, {{"say", "final"},
                                     {"lent_bytes", runtime_.status().lent_bytes},
                                     {"verified_bytes", chunks_.verified_bytes()},
                                     {"mismatched_bytes", chunks_.mismatched_bytes()}});
  }

 private:
  Runtime open(const PlacedOptions& options) {
    RuntimeOptions wanted = runtime_options(options, profile_.kv_bytes);
    wanted.host_bytes = 2_MiB;  // it has no tensors
    wanted.callbacks.on_budget = [this](const MemoryBudget& budget) {
      if (budget.reason == BudgetReason::wanted) wanted_ = true;
    };
    return must(Runtime::open(wanted), options.name);
  }

  void obey() {
    for (const std::string& line : commands_.read(kReportPeriod)) {
      (parse_line(line).at("do") == "go" ? going_ : finished_) = true;
    }
    if (commands_.ended() && !finished_) throw Failure("whoever started this has gone");
  }

  void report() {
    const std::size_t needed = profile_.kv_bytes - profile_.free_bytes;
    must(runtime_.report({.requests_per_second = profile_.max_rps,
                          .queue_length = profile_.queue_length,
                          .kv_bytes_used = std::min(chunks_.bytes(), needed),
                          .kv_bytes_wanted = needed}),
         "report");
    if (wanted_.exchange(false)) lend();
  }

  void lend() {
    const std::size_t freed = chunks_.free_down_to(runtime_.budget().engine_bytes);
    must(runtime_.lend(freed), "lend");
    (void)write_line(STDOUT_FILENO, {{"say", "lending"}, {"bytes", freed}});
  }

  const Profile profile_;
  std::atomic<bool> wanted_{false};  // by a callback, on a thread of the runtime's
  Runtime runtime_;
  KvChunks chunks_;
  LineReader commands_;
  bool going_ = false, finished_ = false;
};

}  // namespace

int run_lender(const PlacedOptions& options, const Profile& profile) {
  Lender(options, profile).run();
  return 0;
}

}  // namespace aqua::example
