// SPDX-License-Identifier: Apache-2.0
// Clusters to place: the models of Aqua's Table 1 in the mix of its section 9.3.
//
// Bytes per shard of an 80 GB GPU. From the paper: Llama 8B (40 GB free), Llama 70B on 4 GPUs
// (15), OPT-30B (needs 10). By arithmetic: Yi-34B's cache of 100,000 tokens (60 layers, 8 KV heads
// of 128, 2 bytes, K and V: 24.6 GB on two GPUs). Assumed: the rest.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tools/place/model/cluster.hpp"

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
  planted,   // of servers that each come to planted_optimum() with N = 0 or 2, shuffled
  even,      // likewise, each with M = 0 and N = 0
};

// The objective of the placement that a planted cluster was made of. No placement has a smaller
// one: M and N are not negative on any of its servers, so this is the mean that all servers'
// sums of bytes and signs come to.
inline place::Bytes planted_optimum(Mix mix) {
  return mix == Mix::planted ? 180'000'000'000 : 0;
}

struct Draw {
  const Table1Model& model;
  double factor;
};
inline Draw draw_model(std::mt19937_64& random) {
  const auto dice = random() % 100;
  const auto any = random();
  const Table1Model& one = dice < 10   ? kAudio[any % std::size(kAudio)]
                           : dice < 25 ? kVision[any % std::size(kVision)]
                                       : kLlm[any % std::size(kLlm)];
  return {one, 0.5 + static_cast<double>(random() % 1'000'001) / 1e6};
}

// A full server's models: drawn until the signs are right, then producers scaled so that
// M + H N is `value`. Bytes are multiples of 4: what rounding leaves over is whole bytes a shard.
inline std::vector<place::Model> planted_server(std::mt19937_64& random, place::Bytes value,
                                                place::Bytes hbm, int most_net) {
  for (;;) {
    std::vector<place::Model> models;
    int net = 0;
    place::Bytes offered = 0, needed = 0;
    for (int left = 8; left > 0;) {
      const auto [one, factor] = draw_model(random);
      if (one.shards > left) continue;
      const auto bytes = static_cast<place::Bytes>(one.gigabytes * factor * 1e9) / 4 * 4;
      models.push_back({one.name, one.shards, bytes});
      left -= one.shards;
      net += place::sign_of(bytes) * one.shards;
      (bytes > 0 ? offered : needed) += std::abs(bytes) * one.shards;
    }
    if (net < 0 || net > most_net) continue;
    const place::Bytes wanted = needed + value - hbm * net;
    place::Bytes rest = wanted;
    place::Model* last = nullptr;
    for (place::Model& model : models) {
      if (model.bytes < 0) continue;
      const double share = static_cast<double>(model.bytes) / static_cast<double>(offered);
      model.bytes = static_cast<place::Bytes>(share * static_cast<double>(wanted)) / 4 * 4;
      rest -= model.bytes * model.shards;
      last = &model;
    }
    last->bytes += rest / last->shards;
    const auto fits = [&](const place::Model& m) { return m.bytes != 0 && m.bytes < hbm; };
    if (std::all_of(models.begin(), models.end(), fits)) return models;
  }
}

inline place::Problem empty_servers(int gpus) {
  place::Problem problem;
  for (int s = 0; s < gpus / 8; ++s)
    problem.servers.push_back({"server" + std::to_string(s), 8, 80'000'000'000});
  return problem;
}

inline place::Problem planted_mix(int gpus, Mix mix, unsigned seed) {
  std::mt19937_64 random(seed);
  place::Problem problem = empty_servers(gpus);
  for (const place::Server& server : problem.servers) {
    const auto planted =
        planted_server(random, planted_optimum(mix), server.hbm_bytes, mix == Mix::planted ? 2 : 0);
    problem.models.insert(problem.models.end(), planted.begin(), planted.end());
  }
  auto& models = problem.models;
  for (std::size_t i = models.size(); i > 1; --i) std::swap(models[i - 1], models[random() % i]);
  for (std::size_t m = 0; m < models.size(); ++m) models[m].id += "-" + std::to_string(m);
  return problem;
}

// Until all GPUs are taken.
inline place::Problem paper_mix(int gpus, Mix mix, unsigned seed) {
  if (mix == Mix::planted || mix == Mix::even) return planted_mix(gpus, mix, seed);
  std::mt19937_64 random(seed);
  place::Problem problem = empty_servers(gpus);
  int net = 0;
  for (int left = gpus / 8 * 8; left > 0;) {
    const auto [one, factor] = draw_model(random);
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
