// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/capi/options.hpp"

#include <utility>
#include <vector>

#include "capi/call.hpp"
#include "capi/sized.hpp"

namespace aqua::capi {
namespace {

// No list of a pipeline, and none of pipelines, is longer.
Result<void> check_list(const char* what, const void* list, std::size_t count) {
  if (count == 0) return {};
  if (list == nullptr) return Error{Code::invalid_argument, concat(what, " is NULL")};
  if (count <= kMostRanks) return {};
  return Error{Code::invalid_argument, concat(what, " has ", count, ", at most ", kMostRanks)};
}

Result<std::vector<std::uint32_t>> to_numbers(const char* what, const std::uint32_t* list,
                                              std::size_t count) {
  AQUA_TRY(check_list(what, list, count));
  return std::vector<std::uint32_t>(list, list + count);
}

Result<KvShape> to_shape(const aqua_kv_shape* shape) {
  AQUA_ASSIGN(const auto given,
              take_in<aqua_kv_shape>("aqua_streamer_open: shape", shape, AQUA_KV_SHAPE_INIT));
  return KvShape{.layers = given.layers,
                 .planes_per_layer = given.planes_per_layer,
                 .kv_heads = given.kv_heads,
                 .head_bytes = given.head_bytes,
                 .tokens_per_block = given.tokens_per_block,
                 .format = string_or_empty(given.format)};
}

Result<Parallelism> to_parallelism(const aqua_parallelism* parallelism) {
  if (parallelism == nullptr) return Parallelism{};
  AQUA_ASSIGN(const auto given, take_in<aqua_parallelism>("aqua_streamer_open: parallelism",
                                                          parallelism, AQUA_PARALLELISM_INIT));
  AQUA_ASSIGN(auto stages, to_numbers("aqua_streamer_open: stage_layers", given.stage_layers,
                                      given.stage_layer_count));
  AQUA_ASSIGN(auto heads, to_numbers("aqua_streamer_open: heads", given.heads, given.head_count));
  return Parallelism{std::move(stages), given.tensor_ranks, std::move(heads)};
}

Result<KvShards> to_shards(const aqua_kv_shape* shape, const aqua_parallelism* parallelism) {
  AQUA_ASSIGN(auto of, to_shape(shape));
  AQUA_ASSIGN(auto dealt, to_parallelism(parallelism));
  return KvShards{std::move(of), std::move(dealt)};
}

}  // namespace

Result<OpenOptions> to_options(const aqua_streamer_options* options) {
  AQUA_ASSIGN(const auto given,
              take_in<aqua_streamer_options>("aqua_streamer_open: options", options,
                                             AQUA_STREAMER_OPTIONS_INIT));
  OpenOptions made;
  made.streamer.group = string_or_empty(given.group);
  made.streamer.rank = given.rank;
  AQUA_ASSIGN(made.streamer.shards, to_shards(given.shape, given.parallelism));
  AQUA_TRY(check_list("aqua_streamer_open: others", given.others, given.other_count));
  for (std::size_t i = 0; i < given.other_count; ++i) {
    AQUA_ASSIGN(const auto other,
                take_in<aqua_stream_group>("aqua_streamer_open: one of others", given.others[i],
                                           AQUA_STREAM_GROUP_INIT));
    AQUA_ASSIGN(auto shards, to_shards(other.shape, other.parallelism));
    made.streamer.others.push_back({string_or_empty(other.name), std::move(shards)});
  }
  made.carrier = {.name = string_or_empty(given.name),
                  .role = kv_stream::Streamer::role(made.streamer.group, given.rank),
                  .parcel_bytes = given.parcel_bytes,
                  .ready = given.ready,
                  .keeper = string_or_empty(given.keeper)};
  return made;
}

}  // namespace aqua::capi
