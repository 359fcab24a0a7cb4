// SPDX-License-Identifier: Apache-2.0
// A consumer: the demonstration's paged engine, with the cache that its profile tells of and as
// many requests at once as fill cache and swap space.
#include <unistd.h>

#include "json_lines.hpp"
#include "must.hpp"
#include "roles.hpp"
#include "toy_engine.hpp"
#include "trace.hpp"

namespace aqua::example {
namespace {

constexpr std::chrono::milliseconds kIteration{5};  // a forward pass takes no less
constexpr std::uint32_t kShortSlice = 8;            // answers are short: else few were preempted
// The share of swap_bytes that the scheduler may fill; the rest is for fragmentation.
constexpr double kUsable = 0.8;
constexpr TraceShape kShape{.requests = 500,
                            .prompt = {.mean = 300, .sigma = 0.5, .min = 16, .max = 512},
                            .output = {.mean = 60, .sigma = 0.5, .min = 20, .max = 120}};

constexpr std::uint32_t blocks_in(double bytes) {
  return static_cast<std::uint32_t>(bytes / static_cast<double>(CacheShape::kBlockBytes));
}

class Borrower {
 public:
  Borrower(const PlacedOptions& options, const Profile& profile)
      : cache_blocks_(blocks_in(static_cast<double>(profile.kv_bytes))),
        swap_blocks_(blocks_in(static_cast<double>(profile.swap_bytes) * kUsable)),
        runtime_(open(options, profile)),
        engine_(runtime_, {.tenant = 1,
                           .cache_blocks = cache_blocks_,
                           .swap_blocks = swap_blocks_,
                           .slice_iterations = kShortSlice}),
        trace_(must(make_trace(kShape), "trace")),
        commands_(STDIN_FILENO) {}

  void run() {
    (void)write_line(STDOUT_FILENO, {{"say", "ready"}});
    while (!finished_ || !engine_.idle()) {
      obey();
      if (going_ && !finished_) submit();
      engine_.iterate();
      if (!borrowing_ && engine_.stats().swap.verified.peer > 0) {
        borrowing_ = true;
        (void)write_line(STDOUT_FILENO, {{"say", "borrowing"}});
      }
    }
    const ConsumerStats stats = engine_.stats();
    (void)write_line(STDOUT_FILENO, {{"say", "final"},
                                     {"requests", stats.done},
                                     {"preemptions", stats.swap.preemptions},
                                     {"fetched", stats.swap.fetched},
                                     {"verified_bytes", stats.verified()},
                                     {"mismatched_bytes", stats.mismatched()}});
  }

 private:
  static Runtime open(const PlacedOptions& options, const Profile& profile) {
    // The cache and staging buffers; the profile sets how much it borrows, and what of the host.
    const std::size_t device = profile.kv_bytes + 128_MiB;
    return must(Runtime::open(runtime_options(options, device)), options.name);
  }

  // Waits as long as a forward pass takes; before "go" there is nothing to compute.
  void obey() {
    for (const std::string& line : commands_.read(kIteration)) {
      (parse_line(line).at("do") == "go" ? going_ : finished_) = true;
    }
    if (commands_.ended() && !finished_) throw Failure("whoever started this has gone");
  }

  // As many at once as fill seven tenths of all the memory that there is.
  void submit() {
    constexpr double kMeanTokens = kShape.prompt.mean + kShape.output.mean;
    const double tokens = 0.7 * CacheShape::kTokensPerBlock * (cache_blocks_ + swap_blocks_);
    const auto wanted = static_cast<std::uint64_t>(tokens / kMeanTokens);
    while (submitted_ - engine_.stats().done < wanted) {
      const TraceRequest& request = trace_[submitted_ % trace_.size()];
      engine_.submit({.id = submitted_++,
                      .prompt_tokens = request.prompt_tokens,
                      .output_tokens = request.output_tokens});
    }
  }

  const std::uint32_t cache_blocks_, swap_blocks_;
  Runtime runtime_;
  ToyEngine engine_;
  const std::vector<TraceRequest> trace_;
  LineReader commands_;
  std::uint64_t submitted_ = 0;
  bool going_ = false, finished_ = false, borrowing_ = false;
};

}  // namespace

int run_borrower(const PlacedOptions& options, const Profile& profile) {
  Borrower(options, profile).run();
  return 0;
}

}  // namespace aqua::example
