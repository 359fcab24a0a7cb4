// SPDX-License-Identifier: Apache-2.0
#include "resume_bench.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>

#include "must.hpp"
#include "summary.hpp"
#include "tensor_parking.hpp"

namespace aqua::llama_example {

using example::median_ratio;
using example::must;
using example::summary;
using report::median;

namespace {

using Clock = std::chrono::steady_clock;

template <typename F>
double ms_of(F&& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// A buffer that is kept and was touched: the most that process memory can do.
class KeptMemory : public Parking {
 public:
  KeptMemory(Engine& engine, std::size_t bytes) : engine_(engine), buffer_(bytes, std::byte{1}) {}
  [[nodiscard]] Result<Tier> park(const Seat& seat) override {
    engine_.save(seat.slot, std::span(buffer_).first(engine_.state_bytes(seat.slot)));
    return Tier::host;
  }
  Tier resume(const Seat& seat) override {
    engine_.restore(seat.slot, buffer_);
    return Tier::host;
  }

 private:
  Engine& engine_;
  std::vector<std::byte> buffer_;
};

struct Store {
  const char* name;
  Parking& parking;
  std::vector<double> save{}, restore{}, both{};
};

nlohmann::json to_json(const Store& store) {
  return {{"save_ms", summary(store.save)},
          {"restore_ms", summary(store.restore)},
          {"save_and_restore_ms", summary(store.both)}};
}

}  // namespace

nlohmann::json measure_resuming(Runtime& runtime, Engine& engine, const std::vector<Token>& prompt,
                                const Options& options) {
  const auto past = static_cast<unsigned>(prompt.size());
  std::vector<double> recompute;
  Token pending = 0;
  for (unsigned i = 0; i < options.recomputations; ++i) {
    engine.drop(0);
    recompute.push_back(ms_of([&] { pending = engine.decode(0, 0, prompt).token; }));
    std::printf("resuming  recomputed %u tokens in %.0f ms\n", past, recompute.back());
    std::fflush(stdout);
  }
  std::vector<std::byte> original(engine.state_bytes(0));
  std::vector<std::byte> now(original.size());
  engine.save(0, original);

  TensorParking tensors(runtime, engine);
  MemoryParking fresh(engine);
  KeptMemory kept(engine, original.size());
  std::vector<Store> stores{{"tensor", tensors}, {"memory_kept", kept}, {"memory_fresh", fresh}};
  const Seat seat{.conversation = 0, .slot = 0, .history = prompt};
  std::size_t wrong = 0;
  std::vector<double> next_token;
  for (unsigned round = 0; round <= options.rounds; ++round) {
    for (std::size_t i = 0; i < stores.size(); ++i) {
      Store& store = stores[(i + round) % stores.size()];  // each goes first as often
      const double save = ms_of([&] { (void)must(store.parking.park(seat), "park"); });
      engine.drop(0);
      const double restore = ms_of([&] { store.parking.resume(seat); });
      engine.save(0, now);
      wrong += std::memcmp(now.data(), original.data(), now.size()) != 0 ? 1U : 0U;
      if (round == 0) continue;  // a warm-up
      store.save.push_back(save);
      store.restore.push_back(restore);
      store.both.push_back(save + restore);
    }
    next_token.push_back(ms_of([&] { (void)engine.decode(0, past, {&pending, 1}); }));
    engine.drop(0, past);
  }
  engine.drop(0);
  const TensorParking::Stats& stats = tensors.stats();
  const Store &ours = stores[0], &theirs = stores[1], &fresher = stores[2];
  nlohmann::json report{{"context_tokens", past},
                        {"state_bytes", original.size()},
                        {"rounds", options.rounds},
                        {"tensor_rounds_in_peer", stats.parked_in_peer},
                        {"states_wrong", wrong},
                        {"recompute_ms", summary(recompute)},
                        {"next_token_ms", summary(next_token)}};
  for (const Store& store : stores) report[store.name] = to_json(store);
  const double token = median(next_token), again = median(recompute);
  report["ratios"] = {
      {"recompute_over_tensor_restore", again / median(ours.restore)},
      {"recompute_over_tensor_restore_to_the_next_token",
       (again + token) / (median(ours.restore) + token)},
      {"tensor_over_memory_kept", median_ratio(ours.both, theirs.both)},
      {"tensor_over_memory_kept_save", median_ratio(ours.save, theirs.save)},
      {"tensor_over_memory_kept_restore", median_ratio(ours.restore, theirs.restore)},
      {"tensor_over_memory_fresh", median_ratio(ours.both, fresher.both)},
  };
  return report;
}

}  // namespace aqua::llama_example
