// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/capi/replica_options.hpp"

#include "capi/call.hpp"
#include "capi/convert.hpp"
#include "capi/sized.hpp"

namespace aqua::capi {
namespace {

constexpr std::size_t kMostTokens = std::size_t{1} << 31;  // of a sequence, as in a recovery's plan

Result<kv_stream::ReplicaOwner> to_owner(const char* what, const aqua_replica_owner* owner) {
  AQUA_ASSIGN(const auto given, take_in<aqua_replica_owner>(what, owner, AQUA_REPLICA_OWNER_INIT));
  return kv_stream::ReplicaOwner{.group = string_or_empty(given.group),
                                 .stage = given.stage,
                                 .rank = given.rank,
                                 .life = string_or_empty(given.life)};
}

Result<kv_stream::WrittenTokens> one_written(const char* what, const Layout& layout,
                                             const aqua_written_tokens* written) {
  const std::string which = concat(what, ": one of written");
  AQUA_ASSIGN(const auto given,
              take_in<aqua_written_tokens>(which.c_str(), written, AQUA_WRITTEN_TOKENS_INIT));
  AQUA_ASSIGN(const auto blocks, to_block_list(what, layout, given.blocks, given.block_count));
  AQUA_ASSIGN(const auto ids, to_ids(what, given.ids, given.id_count));
  if (given.sampler_bytes != 0 && given.sampler == nullptr) return null_argument(what, "sampler");
  return kv_stream::WrittenTokens{
      .sequence = given.sequence,
      .blocks = blocks,
      .first = given.first,
      .ids = ids,
      .sampler = {static_cast<const std::byte*>(given.sampler), given.sampler_bytes}};
}

}  // namespace

Result<kv_stream::ReplicatorOptions> to_options(const aqua_replicator_options* options) {
  AQUA_ASSIGN(const auto given,
              take_in<aqua_replicator_options>("aqua_replicator_create: options", options,
                                               AQUA_REPLICATOR_OPTIONS_INIT));
  AQUA_ASSIGN(auto owner, to_owner("aqua_replicator_create: owner", given.owner));
  return kv_stream::ReplicatorOptions{.owner = std::move(owner),
                                      .shape = string_or_empty(given.shape),
                                      .term = given.term,
                                      .lag_tokens = given.lag_tokens,
                                      .pack_steps = given.pack_steps,
                                      .pack_bytes = given.pack_bytes,
                                      .max_bytes = given.max_bytes,
                                      .background_bytes = given.background_bytes,
                                      .digest = given.digest != 0,
                                      .keeper = string_or_empty(given.keeper)};
}

Result<kv_stream::ReplicaReaderOptions> to_options(const aqua_replica_reader_options* options) {
  AQUA_ASSIGN(const auto given,
              take_in<aqua_replica_reader_options>("aqua_replica_reader_open: options", options,
                                                   AQUA_REPLICA_READER_OPTIONS_INIT));
  AQUA_ASSIGN(auto owner, to_owner("aqua_replica_reader_open: owner", given.owner));
  return kv_stream::ReplicaReaderOptions{.owner = std::move(owner),
                                         .shape = string_or_empty(given.shape),
                                         .term = given.term,
                                         .keeper = string_or_empty(given.keeper),
                                         .patience = std::chrono::milliseconds(given.patience_ms)};
}

Result<std::vector<kv_stream::WrittenTokens>> to_written(const char* what, const Layout& layout,
                                                         const aqua_written_tokens* const* written,
                                                         std::size_t count) {
  if (count != 0 && written == nullptr) return null_argument(what, "written");
  // Each has a block of its own at least; a longer list is shorter than it says.
  if (count > layout.spec().block_count) {
    return Error{Code::invalid_argument, concat(what, ": ", count, " sequences, the layout has ",
                                                layout.spec().block_count, " blocks")};
  }
  std::vector<kv_stream::WrittenTokens> all;
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    AQUA_ASSIGN(const auto one, one_written(what, layout, written[i]));
    all.push_back(one);
  }
  return all;
}

Result<std::span<const std::uint32_t>> to_ids(const char* what, const std::uint32_t* ids,
                                              std::size_t count) {
  if (count == 0) return std::span<const std::uint32_t>{};
  if (ids == nullptr) return null_argument(what, "ids");
  if (count <= kMostTokens) return std::span(ids, count);
  return Error{Code::invalid_argument,
               concat(what, ": ", count, " ids, at most ", kMostTokens, " are possible")};
}

}  // namespace aqua::capi
