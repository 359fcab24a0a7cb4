#include "profiler/prober.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "profiler/load_memory.hpp"
#include "profiler/start_thread.hpp"
#include "profiler/swap_needs.hpp"

namespace aqua::profiler {
namespace {

constexpr std::chrono::milliseconds kMemoryInterval{100};
constexpr std::size_t kRounds = 3;  // of a batch

Error stopped() {
  return {Code::cancelled, "stopped"};
}

}  // namespace

Prober::Prober(const EngineLink& engine, const sim::Trace* trace, ProberOptions options)
    : engine_(engine), trace_(trace), options_(std::move(options)), stop_(engine.door.stop) {}

Result<double> Prober::knock() {
  Caller caller(engine_.place, engine_.door);
  const Clock::time_point sent = Clock::now();
  std::optional<Clock::time_point> first;
  const Answer answer = ask_engine(caller, engine_, {.prompt_tokens = 16, .output_tokens = 2},
                                   ~++knocks_, [&](Clock::time_point at) {
                                     if (!first) first = at;
                                     return !stop_.stop_requested();
                                   });
  if (stop_.stop_requested()) return stopped();
  if (answer.ours) return Error{Code::resource_exhausted, answer.fault};
  if (!answer.fault.empty() || !first)
    return Error{Code::unavailable, concat("the engine ", answer.fault)};
  usage_ = usage_ && answer.usage;
  return engine_.theirs(*first - sent);
}

Result<void> Prober::greet() {
  AQUA_ASSIGN(const double cold, knock());
  AQUA_ASSIGN(const double warm, knock());
  calm_ttft_s_ = std::min(cold, warm);
  return {};
}

// First come, first served: once a new request is answered at once, the load is gone.
Result<void> Prober::recover() {
  const Clock::time_point until = Clock::now() + engine_.door.timeout;
  const double calm = std::max(options_.sla.ttft_s / 2, 2 * calm_ttft_s_);
  do {
    auto ttft = knock();
    if (!ttft.ok()) {
      return Error{ttft.error().code, concat("after the load was cut off: ", ttft.error().message)};
    }
    if (*ttft <= calm) return {};
  } while (Clock::now() < until);
  return Error{Code::deadline_exceeded,
               concat("the engine has not recovered in ", engine_.door.timeout.count(),
                      " s after the load was cut off: does it go on with requests whose client "
                      "has gone?")};
}

Result<Prober::Seen> Prober::play(const sim::Workload& work, const LoadOptions& options) {
  Seen seen;
  {
    MemoryWatch watch(engine_, options_.memory, kMemoryInterval);
    LoadRun run(engine_, asks_of(work, options_.limits), options);
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
  AQUA_TRY(recover());
  if (seen.memory.readings == 0) return Error{Code::data_loss, seen.memory.fault};
  return seen;
}

Result<Probe> Prober::probe(double rate, std::uint64_t seed, bool whole) {
  const sim::Workload work =
      sim::poisson(*trace_, {.requests = options_.requests, .per_second = rate}, seed);
  auto seen = play(work, {.sla = options_.sla, .whole = whole, .seed = seed});
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
               .quantiles = load.quantiles,
               .peak_bytes = seen->memory.used_bytes,
               .client_bytes = kv_bytes(tokens.peak_served, options_.memory.bytes_per_token),
               .pool_bytes = seen->memory.total_bytes,
               .queue_length = tokens.mean_waiting,
               .seconds = load.seconds,
               .lateness_s = load.lateness_s};
}

Result<Burst> Prober::burst(double rate, double factor, std::uint64_t seed) {
  const sim::Workload work = sim::burst(
      *trace_,
      {.per_second = rate, .factor = factor, .seconds = options_.burst_seconds, .after = 1}, seed);
  AQUA_ASSIGN(const Seen seen, play(work, {.sla = options_.sla, .judge = false, .seed = seed}));
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
    Caller caller(engine_.place, engine_.door);
    for (std::size_t i = 0; i < rounds && !stop_.stop_requested(); ++i) {
      const auto reply = caller.post(options_.item_path, options_.item_body,
                                     [&](std::string_view, Clock::time_point) { return true; });
      if (reply.ok() && reply->status == 200) continue;
      const MutexLock lock(mu);
      fault = reply.ok() ? Error{Code::unavailable, concat("the engine answers ", reply->status,
                                                           ": ", error_text(reply->body))}
                         : reply.error();
      return;
    }
  };
  std::vector<std::thread> threads;
  Result<void> shortage{};
  for (std::size_t i = 0; i < size && shortage.ok(); ++i) {
    auto thread = start_thread(one);
    if (thread.ok()) threads.push_back(std::move(thread).value());
    if (!thread.ok()) shortage = thread.error();
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
  if (memory.readings == 0) return Error{Code::data_loss, memory.fault};
  return Batch{.batch = size,
               .throughput = static_cast<double>(size * kRounds) / seconds,
               .peak_bytes = memory.used_bytes,
               .pool_bytes = memory.total_bytes};
}

}  // namespace aqua::profiler
