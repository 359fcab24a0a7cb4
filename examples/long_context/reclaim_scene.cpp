// SPDX-License-Identifier: Apache-2.0
#include "reclaim_scene.hpp"

#include <chrono>
#include <cstdio>

#include "must.hpp"
#include "tools/report/progress_line.hpp"

namespace aqua::long_context {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr std::chrono::seconds kPatience{30};

class Scene {
 public:
  Scene(Engine& engine, const example::StopSignals& stop) : engine_(engine), stop_(stop) {}

  void generate(const char* stage, unsigned steps) {
    generate(stage, steps, [] { return false; });
  }
  // Until it is so, which it must be in time. At least a step.
  template <typename Condition>
  void generate_until(const char* stage, Condition condition) {
    const auto deadline = Clock::now() + kPatience;
    generate(stage, UINT64_MAX, [&] {
      if (condition()) return true;
      if (Clock::now() > deadline) throw example::Failure(std::string(stage) + ": took too long");
      return false;
    });
  }
  [[nodiscard]] const json& stages() const { return stages_; }

 private:
  template <typename Enough>
  void generate(const char* stage, std::uint64_t most, Enough enough) {
    const std::uint64_t fetched_before = engine_.status().fetched_bytes;
    const std::uint64_t tokens_before = engine_.generated_tokens();
    double lent = 0;  // of what is away; of all steps
    const double seconds = engine_.run(RunMode::generate, most, [&] {
      stop_.check();
      line_.show(stage);
      const LayerPoolStatus pool = engine_.status();
      lent += static_cast<double>(pool.away_peer_bytes) / static_cast<double>(pool.away_bytes);
      return !enough();
    });
    const std::uint64_t tokens = engine_.generated_tokens() - tokens_before;
    lent /= static_cast<double>(tokens);
    stages_.push_back({{"stage", stage},
                       {"tokens", tokens},
                       {"seconds", seconds},
                       {"tokens_per_second", static_cast<double>(tokens) / seconds},
                       {"fetched_bytes", engine_.status().fetched_bytes - fetched_before},
                       {"lent_share_of_away", lent}});
    char text[96];
    (void)std::snprintf(text, sizeof text, "%-22s %4lu tokens, %6.2f a second, %3.0f %% lent",
                        stage, tokens, static_cast<double>(tokens) / seconds, 100 * lent);
    line_.end(text);
  }

  Engine& engine_;
  const example::StopSignals& stop_;
  report::ProgressLine line_{stdout, report::ProgressLine::Where::everywhere, "generating"};
  json stages_ = json::array();
};

}  // namespace

json show_reclaim(Engine& engine, example::Neighbours& neighbours, unsigned steps,
                  const example::StopSignals& stop) {
  Runtime& runtime = neighbours.runtime();
  const RuntimeStatus before = runtime.status();
  Scene scene(engine, stop);
  scene.generate("lent", steps);
  neighbours.ask_back();
  std::optional<json> lender;
  scene.generate_until("memory is taken back", [&] {
    lender = neighbours.answer();
    return lender.has_value();
  });
  const RuntimeStatus home = runtime.status();
  scene.generate("from host memory", steps);
  neighbours.ask_to_lend();
  const std::size_t moved = home.evacuations - before.evacuations;
  scene.generate_until("memory is lent again",
                       [&] { return runtime.status().promotions >= home.promotions + moved; });
  scene.generate("lent again", steps);
  lender->erase("say");
  return {{"stages", scene.stages()},
          {"lender", *lender},
          {"peer_bytes_when_asked", before.peer.tensor_bytes},
          {"peer_bytes_when_home", home.peer.tensor_bytes},
          {"evacuations", moved},
          {"evacuated_bytes", home.evacuated_bytes - before.evacuated_bytes},
          {"promotions", runtime.status().promotions - home.promotions}};
}

}  // namespace aqua::long_context
