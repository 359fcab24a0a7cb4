// SPDX-License-Identifier: Apache-2.0
// What is to be placed where: plain data, as read from the input file.
//
// Units: bytes; a model's `bytes` is per shard, positive for a producer, negative for a consumer,
// 0 for a model that neither lends nor borrows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aqua::place {

using Bytes = std::int64_t;

// Within these no sum overflows 64 bits.
inline constexpr Bytes kMaxBytes = Bytes{1} << 43;               // of one GPU or one shard
inline constexpr std::int64_t kMaxGpus = std::int64_t{1} << 17;  // all together; shards likewise

struct Server {
  std::string id;
  int gpus = 0;
  Bytes hbm_bytes = 0;        // of one GPU
  std::string domain{};       // servers that name the same one share an NVLink fabric; "": its own
  Bytes bandwidth_bytes = 0;  // per second, of one GPU's NVLink; breaks ties between pairs
};

struct Model {
  std::string id;
  int shards = 1;         // tensor-parallel: one GPU each, all on one server
  Bytes bytes = 0;        // per shard
  std::string current{};  // the server it runs on now; "": nowhere
  std::string fixed{};    // the server it must run on; "": any
  std::string apart{};    // no two models that name the same group share a server; "": any may
};

struct Problem {
  std::vector<Server> servers;
  std::vector<Model> models;
  Bytes move_cost_bytes = 0;  // the objective must fall by this much for each model that moves
};

// For each model the index of its server.
using Assignment = std::vector<int>;

}  // namespace aqua::place
