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
  Scene(Pipeline& pipeline, const example::StopSignals& stop) : pipeline_(pipeline), stop_(stop) {}

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
    const example::TierBytes before = pipeline_.context().fetched();
    const std::uint64_t tokens_before = pipeline_.generated_tokens();
    const double seconds = pipeline_.run(RunMode::overlapped, most, [&] {
      stop_.check();
      line_.show(stage);
      return !enough();
    });
    const example::TierBytes& after = pipeline_.context().fetched();
    const std::uint64_t tokens = pipeline_.generated_tokens() - tokens_before;
    const example::TierBytes fetched{after.peer - before.peer, after.host - before.host};
    stages_.push_back({{"stage", stage},
                       {"tokens", tokens},
                       {"seconds", seconds},
                       {"tokens_per_second", static_cast<double>(tokens) / seconds},
                       {"fetched_bytes", fetched}});
    char text[96];
    (void)std::snprintf(text, sizeof text, "%-22s %4lu tokens, %6.2f a second, %3.0f %% from peer",
                        stage, tokens, static_cast<double>(tokens) / seconds,
                        100 * static_cast<double>(fetched.peer) /
                            static_cast<double>(std::max<std::uint64_t>(fetched.sum(), 1)));
    line_.end(text);
  }

  Pipeline& pipeline_;
  const example::StopSignals& stop_;
  report::ProgressLine line_{stdout, report::ProgressLine::Where::everywhere, "generating"};
  json stages_ = json::array();
};

}  // namespace

json show_reclaim(Pipeline& pipeline, example::Neighbours& neighbours, unsigned steps,
                  const example::StopSignals& stop) {
  Runtime& runtime = neighbours.runtime();
  const RuntimeStatus before = runtime.status();
  Scene scene(pipeline, stop);
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
