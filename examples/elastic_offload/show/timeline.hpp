// SPDX-License-Identifier: Apache-2.0
// Timeline keeps where memory was through a run, for the pictures.
#pragma once

#include <string>
#include <vector>

#include "show/live.hpp"

namespace aqua::example {

struct Timeline {
  struct Sample {
    double seconds = 0;
    std::uint64_t peer = 0, host = 0;  // bytes of preempted KV
    std::uint64_t lent = 0;            // bytes put up by the lenders
  };
  struct Mark {
    double seconds = 0;
    std::string text;
  };
  std::vector<Sample> samples;
  std::vector<Mark> marks;

  void note(const Standing& now, const std::vector<std::string>& news) {
    Sample sample{.seconds = now.seconds};
    for (const ConsumerStats& stats : now.consumers) {
      sample.peer += stats.tensors.peer;
      sample.host += stats.tensors.host;
    }
    for (const ProducerStats& stats : now.producers) sample.lent += stats.lent_bytes;
    samples.push_back(sample);
    for (const std::string& text : news) marks.push_back({now.seconds, text});
  }
};

}  // namespace aqua::example
