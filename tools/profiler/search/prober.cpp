// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/search/prober.hpp"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <random>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/http/engine_answer.hpp"
#include "tools/http/start_thread.hpp"
#include "tools/profiler/load/load_memory.hpp"
#include "tools/profiler/memory/swap_needs.hpp"

namespace aqua::profiler {
namespace {

constexpr std::chrono::milliseconds kMemoryInterval{100};
constexpr std::chrono::milliseconds kRest{50};
constexpr std::size_t kRounds = 3;                         // of a batch
constexpr std::size_t kMostItem = std::size_t{256} << 20;  // bytes of an image, a song

// Draws a number for this process, so that no engine has its prompts in a cache from an earlier
// run.
std::uint64_t nonce() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

Error stopped() {
  return {Code::cancelled, "stopped"};
}

// A while, before an engine that refused is asked again; not when it is stopped.
void rest(const std::stop_token& stop) {
  std::mutex mu;
  std::condition_variable_any never;
  std::unique_lock lock(mu);
  (void)never.wait_for(lock, stop, kRest, [] { return false; });
}

}  // namespace

Prober::Prober(const EngineLink& engine, const sim::Trace* trace, ProberOptions options)
    : engine_(engine),
      trace_(trace),
      options_(std::move(options)),
      stop_(engine.http.stop),
      next_prompt_(nonce()) {}

Result<Prober::ShortRequest> Prober::time_short_request() {
  HttpClient client(engine_.url, engine_.http);
  const Clock::time_point sent = Clock::now();
  std::optional<Clock::time_point> first;
  const Answer answer = ask_engine(client, engine_, {.prompt_tokens = 16, .output_tokens = 2},
                                   next_prompt_++, [&](Clock::time_point at) {
                                     if (!first) first = at;
                                     return !stop_.stop_requested();
                                   });
  if (stop_.stop_requested()) return stopped();
  if (answer.ours) return Error{Code::resource_exhausted, answer.fault};
  if (answer.refused) return ShortRequest{.refusal = answer.fault};
  if (!answer.fault.empty() || !first)
    return Error{Code::unavailable, concat("the engine ", answer.fault)};
  usage_ = usage_ && answer.usage;
  return ShortRequest{.ttft_s = engine_.theirs(*first - sent)};
}

Result<void> Prober::greet() {
  calm_ttft_s_ = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 2; ++i) {  // the first may find it cold
    AQUA_ASSIGN(const ShortRequest one, time_short_request());
    if (!one.refusal.empty()) return Error{Code::unavailable, concat("the engine ", one.refusal)};
    calm_ttft_s_ = std::min(calm_ttft_s_, one.ttft_s);
  }
  return {};
}

// First come, first served: once a new request is answered at once, the load is gone. One that is
// refused says that it is not yet.
Result<void> Prober::recover() {
  const Clock::time_point until = Clock::now() + engine_.http.timeout;
  const double calm = std::max(options_.sla.ttft_s / 2, 2 * calm_ttft_s_);
  do {
    auto one = time_short_request();
    if (!one.ok()) {
      return Error{one.error().code, concat("after the load was cut off: ", one.error().message)};
    }
    const bool refused = !one->refusal.empty();
    if (!refused && one->ttft_s <= calm) return {};
    if (refused) rest(stop_);
  } while (Clock::now() < until);
  return Error{Code::deadline_exceeded,
               concat("the engine has not recovered in ", engine_.http.timeout.count(),
                      " s after the load was cut off: does it go on with requests whose client "
                      "has gone?")};
}

Result<Prober::Seen> Prober::play(const sim::Workload& work, LoadOptions options) {
  std::vector<Ask> asks = asks_of(work, options_.limits);
  AQUA_TRY(playable(asks));
  options.first_prompt = next_prompt_;
  next_prompt_ += asks.size();
  Seen seen;
  {
    MemoryWatch watch(engine_, options_.memory, kMemoryInterval);
    LoadRun run(engine_, std::move(asks), options);
    seen.load = run.run(stop_);
    seen.memory = watch.peak();
  }
  if (stop_.stop_requested()) return stopped();
  if (!seen.load.shortage.empty()) return Error{Code::resource_exhausted, seen.load.shortage};
  const std::size_t most = allowed_over(work.requests.size(), options_.sla.quantile);
  if (seen.load.faults > most) {
    return Error{Code::unavailable, concat(seen.load.faults, " of ", work.requests.size(),
                                           " requests failed; the engine ", seen.load.fault)};
  }
  if (seen.load.differences > most) {
    return Error{Code::data_loss, concat("it would be the profile of another load: the engine ",
                                         seen.load.difference, " (", seen.load.differences,
                                         " answers of ", work.requests.size(), ")")};
  }
  AQUA_TRY(recover());
  // A load that is not judged, or not met, gives no peak; its memory says how large the pool is.
  const bool counts = !options.judge || (options.whole && seen.load.standing == Standing::met);
  if (counts || seen.memory.readings == 0) AQUA_TRY(believable(seen.memory));
  return seen;
}

Result<Probe> Prober::probe(double rate, std::uint64_t seed, bool whole) {
  AQUA_ASSIGN(const sim::Workload work,
              sim::poisson(*trace_, {.requests = options_.requests, .per_second = rate}, seed));
  auto seen = play(work, {.sla = options_.sla, .whole = whole});
  if (!seen.ok()) {
    return Error{seen.error().code, concat("at ", rate, " requests/s: ", seen.error().message)};
  }
  const LoadResult& load = seen->load;
  const LoadTokens tokens = load_tokens(load.trips);
  return Probe{.rate = rate,
               .seed = seed,
               .met = load.standing == Standing::met,
               .whole = whole,
               .requests = work.requests.size(),
               .answered = load.answered,
               .failures = load.failures,
               .memory_faults = seen->memory.faults,
               .quantiles = load.quantiles,
               .peak_bytes = seen->memory.used_bytes,
               .client_bytes = kv_bytes(tokens.peak_served, options_.memory.bytes_per_token),
               .pool_bytes = seen->memory.total_bytes,
               .queue_length = tokens.mean_waiting,
               .seconds = load.seconds,
               .lateness_s = load.lateness_s};
}

Result<Burst> Prober::burst(double rate, double factor, std::uint64_t seed) {
  AQUA_ASSIGN(
      const sim::Workload work,
      sim::burst(
          *trace_,
          {.per_second = rate, .factor = factor, .seconds = options_.burst_seconds, .after = 1},
          seed));
  AQUA_ASSIGN(const Seen seen, play(work, {.sla = options_.sla, .judge = false}));
  const double wanted =
      std::max(seen.memory.used_bytes,
               kv_bytes(load_tokens(seen.load.trips).peak_wanted, options_.memory.bytes_per_token));
  return Burst{.factor = factor,
               .rate = rate,
               .wanted_bytes = wanted,
               .swap_bytes = burst_swap_bytes(wanted, seen.memory.total_bytes)};
}

Result<void> Prober::items(std::size_t size, std::size_t rounds) {
  Mutex mu;
  std::optional<Error> fault;
  const auto one = [&] {
    HttpClient client(engine_.url, engine_.http);
    for (std::size_t i = 0; i < rounds && !stop_.stop_requested(); ++i) {
      std::size_t bytes = 0;
      const auto reply = client.post(options_.item_path, options_.item_body,
                                     [&](std::string_view part, Clock::time_point) {
                                       bytes += part.size();
                                       return bytes > kMostItem ? Heard::enough : Heard::something;
                                     });
      if (reply.ok() && reply->status == 200) continue;
      const MutexLock lock(mu);
      if (bytes > kMostItem) {
        fault = Error{Code::data_loss,
                      concat("the engine sends an item of more than ", kMostItem, " bytes")};
        return;
      }
      fault = reply.ok() ? Error{Code::unavailable, concat("the engine answers ", reply->status,
                                                           ": ", http::error_text(reply->body))}
                         : reply.error();
      return;
    }
  };
  std::vector<std::thread> threads;
  Result<void> shortage{};
  for (std::size_t i = 0; i < size && shortage.ok(); ++i) {
    auto thread = http::start_thread(one);
    if (thread.ok()) {
      threads.push_back(std::move(thread).value());
    } else {
      shortage = thread.error();
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (stop_.stop_requested()) return stopped();
  AQUA_TRY(shortage);
  if (fault) return *std::move(fault);
  return {};
}

Result<Batch> Prober::batch(std::size_t size) {
  AQUA_TRY(items(size, 1));  // so that nothing is built or loaded while it counts
  MemoryWatch watch(engine_, options_.memory, kMemoryInterval);
  const Clock::time_point start = Clock::now();
  AQUA_TRY(items(size, kRounds));
  const double seconds = engine_.theirs(Clock::now() - start);
  const MemoryPeak memory = watch.peak();
  if (stop_.stop_requested()) return stopped();
  AQUA_TRY(believable(memory));
  return Batch{.batch = size,
               .throughput = static_cast<double>(size * kRounds) / seconds,
               .peak_bytes = memory.used_bytes,
               .pool_bytes = memory.total_bytes,
               .memory_faults = memory.faults};
}

}  // namespace aqua::profiler
