// SPDX-License-Identifier: Apache-2.0
#include "stream/attachment.hpp"

#include <utility>

#include "daemon_program.hpp"

namespace aqua::pipeline {
namespace {

using example::must;

// The pipeline at the other end: its name and its shape.
kv_stream::StreamGroup other_of(const Options& options) {
  const bool prefill = options.place.pipeline == kPrefill;
  return {prefill ? kDecode : kPrefill,
          shards_of(options.model_shape(), prefill ? *options.decode : *options.prefill,
                    options.cache.tokens_per_block)};
}

std::uint32_t number_of(const Place& place) {
  return place.stage * place.shape.ranks + place.rank;
}

// Bytes of a whole prompt, all layers and heads: no parcel is larger.
std::size_t most_bytes(const Options& options) {
  const ModelShape model = options.model_shape();
  return std::size_t{2} * options.most_tokens() * model.layers * model.kv_heads * model.head_bytes;
}

}  // namespace

KvShards shards_of(const ModelShape& model, const PipelineShape& pipeline,
                   unsigned tokens_per_block) {
  KvShards shards{.shape = {.layers = model.layers,
                            .kv_heads = model.kv_heads,
                            .head_bytes = model.head_bytes,
                            .tokens_per_block = tokens_per_block,
                            .format = "toy"},
                  .parallelism = {.tensor_ranks = pipeline.ranks}};
  for (unsigned stage = 0; stage < pipeline.stages; ++stage)
    shards.parallelism.stage_layers.push_back(part_of(model, pipeline, stage, 0).layers.count);
  return shards;
}

std::shared_ptr<Attachment> Attachment::attach(Runtime& runtime, const Options& options,
                                               const KvCache& cache, unsigned room) {
  auto carrier = SegmentCarrier::attach(
      runtime, cache.layout(),
      {.name = kStreams,
       .role = kv_stream::Streamer::role(options.place.pipeline, number_of(options.place)),
       .parcel_bytes = most_bytes(options),
       .keeper = example::keeper_socket(options.directory)});
  if (!carrier.ok() && carrier.error().code == Code::unavailable) return nullptr;
  return std::make_shared<Attachment>(must(std::move(carrier), "streams"), options, cache, room);
}

Attachment::Attachment(SegmentCarrier carrier, const Options& options, const KvCache& cache,
                       unsigned room)
    : carrier_(std::move(carrier)),
      streamer_(must(kv_stream::Streamer::create(
                         carrier_, cache.layout(),
                         {.group = options.place.pipeline,
                          .rank = number_of(options.place),
                          .shards = shards_of(options.model_shape(), options.place.shape,
                                              options.cache.tokens_per_block),
                          .others = {other_of(options)}}),
                     "streamer")) {
  if (options.place.pipeline == kDecode) (void)lost(streamer_.admit(kPrefill, room), "admit");
}

}  // namespace aqua::pipeline
