// SPDX-License-Identifier: Apache-2.0
#include "reclaim_plot.hpp"

#include <cstdio>

#include "must.hpp"

namespace aqua::llama_example {
namespace {

constexpr std::chrono::seconds kPatience{30};

}  // namespace

void ReclaimPlot::follow(const Progress& progress) {
  last_ = progress;
  if (act_ == Act::before && progress.tokens * 5 >= progress.all_tokens * 2 &&
      progress.waiting > 0) {
    const RuntimeStatus status = neighbours_.runtime().status();
    report_ = {{"peer_tensors_when_asked", status.peer.tensors},
               {"peer_bytes_when_asked", status.peer.tensor_bytes},
               {"preemptions_before", progress.preemptions}};
    neighbours_.ask_back();
    act_ = Act::asked;
  } else if (act_ == Act::asked) {
    take_answer(progress);
  } else if (act_ == Act::home && progress.tokens * 5 >= progress.all_tokens * 3) {
    neighbours_.ask_to_lend();
    act_ = Act::lent_again;
  }
}

void ReclaimPlot::take_answer(const Progress& progress) {
  const auto answer = neighbours_.answer();
  if (!answer) return;
  const RuntimeStatus status = neighbours_.runtime().status();
  for (const char* name : {"bytes", "slabs", "first_ms", "last_ms"})
    report_[name] = answer->at(name);
  report_["evacuations"] = status.evacuations;
  report_["evacuated_bytes"] = status.evacuated_bytes;
  report_["tokens_meanwhile_at"] = progress.tokens;
  std::printf("reclaimed %zu MiB in %.1f ms: %zu tensors moved to host memory\n",
              answer->at("bytes").get<std::size_t>() >> 20, answer->at("last_ms").get<double>(),
              status.evacuations);
  act_ = Act::home;
}

nlohmann::json ReclaimPlot::end() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (act_ == Act::asked) {
    take_answer(last_);
    if (std::chrono::steady_clock::now() > deadline)
      throw example::Failure("the lender did not get its memory back");
  }
  if (act_ == Act::home) neighbours_.ask_to_lend();
  if (act_ == Act::before) return nullptr;
  const RuntimeStatus status = neighbours_.runtime().status();
  report_["promotions_afterwards"] = status.promotions;
  report_["lost_tensors"] = status.lost_tensors;
  return report_;
}

}  // namespace aqua::llama_example
