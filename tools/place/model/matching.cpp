// SPDX-License-Identifier: Apache-2.0
#include "tools/place/model/matching.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

namespace aqua::place {
namespace {

struct Candidate {
  Bytes bytes;
  Bytes bandwidth;
  std::size_t consumer;
  std::size_t producer;
};

bool better(const Candidate& a, const Candidate& b) {
  return std::tie(b.bytes, b.bandwidth, a.consumer, a.producer) <
         std::tie(a.bytes, a.bandwidth, b.consumer, b.producer);
}

}  // namespace

// Both sides rank by the same (bytes, bandwidth) of the pair, so the best pair left can always be
// made: nobody in it could do better. Of equal ones the smaller ids come first, which is what
// both would choose.
std::vector<Pair> stable_matching(std::span<const Party> producers,
                                  std::span<const Party> consumers) {
  std::vector<Candidate> all;
  all.reserve(producers.size() * consumers.size());
  for (std::size_t c = 0; c < consumers.size(); ++c) {
    for (std::size_t p = 0; p < producers.size(); ++p) {
      all.push_back({std::min(producers[p].bytes, consumers[c].bytes),
                     std::min(producers[p].bandwidth_bytes, consumers[c].bandwidth_bytes), c, p});
    }
  }
  std::sort(all.begin(), all.end(), better);
  std::vector<bool> lends(producers.size());
  std::vector<bool> borrows(consumers.size());
  std::vector<Pair> pairs;
  for (const Candidate& one : all) {
    if (lends[one.producer] || borrows[one.consumer]) continue;
    lends[one.producer] = borrows[one.consumer] = true;
    pairs.push_back({producers[one.producer].shard, consumers[one.consumer].shard, one.bytes});
  }
  return pairs;
}

Bytes largest_matching(std::vector<Bytes> offers, std::vector<Bytes> needs) {
  const auto most = static_cast<std::ptrdiff_t>(std::min(offers.size(), needs.size()));
  std::partial_sort(offers.begin(), offers.begin() + most, offers.end(), std::greater<>());
  std::partial_sort(needs.begin(), needs.begin() + most, needs.end(), std::greater<>());
  return std::transform_reduce(offers.begin(), offers.begin() + most, needs.begin(), Bytes{0},
                               std::plus<>(), [](Bytes a, Bytes b) { return std::min(a, b); });
}

std::vector<Pair> match(const Cluster& cluster, const Assignment& assignment) {
  struct Sides {
    std::vector<Party> producers;
    std::vector<Party> consumers;
  };
  std::vector<int> by_id(cluster.models().size());
  std::iota(by_id.begin(), by_id.end(), 0);
  std::sort(by_id.begin(), by_id.end(),
            [&](int a, int b) { return cluster.model(a).id < cluster.model(b).id; });
  std::vector<Sides> sides(cluster.units().size());
  for (const int m : by_id) {
    const Model& model = cluster.model(m);
    if (model.bytes == 0) continue;
    const int server = assignment[static_cast<std::size_t>(m)];
    const Bytes speed = cluster.servers()[static_cast<std::size_t>(server)].bandwidth_bytes;
    Sides& unit = sides[static_cast<std::size_t>(cluster.unit_of(server))];
    for (int shard = 0; shard < model.shards; ++shard) {
      auto& side = model.bytes > 0 ? unit.producers : unit.consumers;
      side.push_back({{m, shard}, model.bytes > 0 ? model.bytes : -model.bytes, speed});
    }
  }
  std::vector<Pair> pairs;
  for (const Sides& unit : sides) {
    const auto some = stable_matching(unit.producers, unit.consumers);
    pairs.insert(pairs.end(), some.begin(), some.end());
  }
  return pairs;
}

}  // namespace aqua::place
