// SPDX-License-Identifier: Apache-2.0
#include "stream/streams.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon_program.hpp"
#include "must.hpp"

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

// Of a whole prompt, all layers and heads: no parcel is larger.
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

Streams::Streams(Runtime& runtime, const Options& options, const KvCache& cache)
    : carrier_(must(SegmentCarrier::attach(runtime, cache.layout(),
                                           {.name = "streams",
                                            .role = kv_stream::Streamer::role(
                                                options.place.pipeline, number_of(options.place)),
                                            .parcel_bytes = most_bytes(options),
                                            .keeper = example::keeper_socket(options.directory)}),
                    "streams")),
      streamer_(must(kv_stream::Streamer::create(
                         carrier_, cache.layout(),
                         {.group = options.place.pipeline,
                          .rank = number_of(options.place),
                          .shards = shards_of(options.model_shape(), options.place.shape,
                                              options.cache.tokens_per_block),
                          .others = {other_of(options)}}),
                     "streamer")) {
  if (options.place.pipeline == kDecode) must(streamer_.admit(kPrefill, options.batch), "admit");
}

template <typename Happened>
void Streams::await(const char* what, Happened happened) {
  constexpr std::chrono::seconds kPatience{120};  // on a busy machine
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!happened()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) throw example::Failure(std::string(what) + " does not come");
    if (told_ && told_()) throw NeighbourGone(std::string(what) + " is not waited for");
    (void)streamer_.wait(std::min(left, kOneWait));
  }
}

kv_stream::StreamOut Streams::begin(const StepHead& step, BlockList blocks) {
  auto out = must(streamer_.stream_out({.sequence = step.sequence,
                                        .attempt = step.attempt,
                                        .to = kDecode,
                                        .blocks = blocks,
                                        .tokens = step.end()}),
                  "stream_out");
  await("room for a prompt", [&] { return must(out.ready(), "room"); });
  return out;
}

void Streams::complete(kv_stream::StreamOut out, Stream stream) {
  must(out.finish("", stream), "finish");
  // Not to be left before: its blocks are written by others then, and it arrives all the same.
  while (!must(out.copied(), "copies")) (void)streamer_.wait(kOneWait);
  await("the end of copies", [&] { return must(out.kept(), "copies"); });
}

void Streams::hear() {
  const auto is_wanted = [this](Word sequence) { return wanted(sequence); };
  for (const kv_stream::Arrived& each : streamer_.arrived(is_wanted))
    arrived_[each.sequence] = each.attempt;
}

bool Streams::wanted(Word sequence) const {
  return !ended_.contains(sequence) && (sequence >= begun_ || kept_.contains(sequence));
}

kv_stream::StreamIn Streams::take(const StepHead& step, BlockList blocks, Stream stream) {
  await("a prompt", [&] {
    hear();
    const auto found = arrived_.find(step.sequence);
    return found != arrived_.end() && found->second >= step.attempt;
  });
  return must(streamer_.stream_in(step.sequence, blocks, stream), "stream_in");
}

void Streams::finish(const StepHead& step, Stream stream) {
  hear();
  const auto found = arrived_.find(step.sequence);
  if (found == arrived_.end() || found->second < step.attempt) ended_.insert(step.sequence);
  let_go(step.sequence, stream);
}

void Streams::let_go(Word sequence, Stream stream) {
  if (must(streamer_.finish(sequence, stream), "finish"))
    must(streamer_.admit(kPrefill, 1), "admit");
  arrived_.erase(sequence);
}

void Streams::keep(const std::vector<Word>& sequences, Word begun, Stream stream) {
  kept_ = {sequences.begin(), sequences.end()};
  begun_ = begun;
  ended_.clear();  // they are among those that are not kept
  hear();
  for (auto each = arrived_.begin(); each != arrived_.end();) {
    const Word sequence = (each++)->first;
    if (!wanted(sequence)) let_go(sequence, stream);
  }
}

}  // namespace aqua::pipeline
