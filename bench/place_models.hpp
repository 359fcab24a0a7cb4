// SPDX-License-Identifier: Apache-2.0
// Clusters to place: the models of Aqua's Table 1 in the mix of its section 9.3.
//
// Bytes per shard of an 80 GB GPU. From the paper: Llama 8B (40 GB free), Llama 70B on 4 GPUs
// (15), OPT-30B (needs 10). By arithmetic: Yi-34B's cache of 100,000 tokens (60 layers, 8 KV heads
// of 128, 2 bytes, K and V: 24.6 GB on two GPUs). Assumed: the rest.
#pragma once

#include <random>
#include <string>

#include "tools/place/model/problem.hpp"

namespace aqua::bench {

struct Table1Model {
  const char* name;
  int shards;
  double gigabytes;
};

inline constexpr Table1Model kAudio[] = {{"musicgen", 1, 55}, {"audiogen", 1, 60}};
inline constexpr Table1Model kVision[] = {{"sd3", 1, 35}, {"sdxl", 1, 45}, {"kandinsky", 1, 50}};
inline constexpr Table1Model kLlm[] = {{"llama70b-cfs", 2, -20},
                                       {"yi34b-200k", 2, -12.3},
                                       {"opt30b", 1, -10},
                                       {"llama8b", 1, 40},
                                       {"llama70b", 4, 15}};

enum class Mix {
  table1,    // 10 % audio, 15 % vision, the rest LLMs
  own,       // likewise, every model with its own bytes: half to one and a half of its class's
  balanced,  // likewise own, without a model that would take the shards' signs further off balance
};

// Until all GPUs are taken.
inline place::Problem paper_mix(int gpus, Mix mix, unsigned seed) {
  std::mt19937_64 random(seed);
  place::Problem problem;
  for (int s = 0; s < gpus / 8; ++s) {
    problem.servers.push_back({"server" + std::to_string(s), 8, 80'000'000'000});
  }
  int net = 0;
  for (int left = gpus / 8 * 8; left > 0;) {
    const auto dice = random() % 100;
    const auto any = random();
    const Table1Model& one = dice < 10   ? kAudio[any % std::size(kAudio)]
                             : dice < 25 ? kVision[any % std::size(kVision)]
                                         : kLlm[any % std::size(kLlm)];
    const double factor = 0.5 + static_cast<double>(random() % 1'000'001) / 1e6;
    const int sign = one.gigabytes > 0 ? 1 : -1;
    if (one.shards > left || (mix == Mix::balanced && net * sign > 0)) continue;
    net += sign * one.shards;
    left -= one.shards;
    const std::string id = std::string(one.name) + "-" + std::to_string(problem.models.size());
    const double bytes = one.gigabytes * 1e9 * (mix == Mix::table1 ? 1 : factor);
    problem.models.push_back({id, one.shards, static_cast<place::Bytes>(bytes)});
  }
  return problem;
}

}  // namespace aqua::bench
