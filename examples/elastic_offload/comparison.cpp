// SPDX-License-Identifier: Apache-2.0
#include "comparison.hpp"

#include <algorithm>

#include "show/percentile.hpp"

namespace aqua::example {

double Serving::tokens_per_second() const {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

void to_json(nlohmann::json& json, const Serving& serving) {
  json = {{"seconds", serving.seconds},
          {"tokens", serving.tokens},
          {"tokens_per_second", serving.tokens_per_second()},
          {"ttft_ms",
           {{"p50", percentile(serving.ttft_ms, 50)},
            {"p99", percentile(serving.ttft_ms, 99)},
            {"all", serving.ttft_ms}}},
          {"offloaded_bytes", serving.offloaded},
          {"fetched_bytes", serving.fetched},
          {"promoted_bytes", serving.promoted},
          {"evacuated_bytes", serving.evacuated}};
}

Comparison::Comparison(const Workload& work, std::size_t count, Fleet& fleet, Requests& requests)
    : items_(work.items.begin(),
             work.items.begin() + static_cast<std::ptrdiff_t>(std::min(count, work.items.size()))),
      fleet_(fleet),
      requests_(requests) {}

void Comparison::follow(double seconds) {
  if (items_.empty()) part_ = Part::over;
  if (part_ == Part::over) return;
  if (!begun_ && part_ == Part::host) begin(seconds, false);
  const bool served_all = begun_ && done() == items_.size();
  if (part_ == Part::host && served_all) {
    host_ = served(seconds);
    part_ = Part::leasing;
    begun_ = false;
  }
  const auto leases = [](const auto& consumer) { return consumer.stats.leased_bytes > 0; };
  if (part_ == Part::leasing && std::ranges::all_of(fleet_.consumers(), leases)) {
    part_ = Part::lent;
    begin(seconds, true);
  } else if (part_ == Part::lent && served_all) {
    lent_ = served(seconds);
    part_ = Part::over;
  }
}

void Comparison::begin(double seconds, bool lent) {
  before_.clear();
  for (auto& consumer : fleet_.consumers()) {
    before_.push_back(consumer.stats);
    (void)consumer.process.send({{"do", "lending"}, {"use", lent}});
  }
  began_ = seconds;
  begun_ = true;
  requests_.deal(items_, true);
}

std::uint64_t Comparison::done() const {
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < before_.size(); ++i) {
    done += fleet_.consumers()[i].stats.done - before_[i].done;
  }
  return done;
}

Serving Comparison::served(double seconds) const {
  Serving serving;
  serving.seconds = seconds - began_;
  for (std::size_t i = 0; i < before_.size(); ++i) {
    const ConsumerStats &then = before_[i], &now = fleet_.consumers()[i].stats;
    serving.tokens += now.tokens - then.tokens;
    serving.offloaded += now.swap.offloaded - then.swap.offloaded;
    serving.fetched += now.swap.fetched - then.swap.fetched;
    serving.promoted += now.promoted_bytes - then.promoted_bytes;
    serving.evacuated += now.evacuated_bytes - then.evacuated_bytes;
    serving.ttft_ms.insert(serving.ttft_ms.end(),
                           now.ttft_ms.begin() + static_cast<std::ptrdiff_t>(then.ttft_ms.size()),
                           now.ttft_ms.end());
  }
  return serving;
}

}  // namespace aqua::example
