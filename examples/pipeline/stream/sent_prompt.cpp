// SPDX-License-Identifier: Apache-2.0
#include "stream/sent_prompt.hpp"

#include <utility>

namespace aqua::pipeline {

SentPrompt::SentPrompt(Streams& streams, const StepHead& step, BlockList blocks)
    : streams_(streams), step_(step), blocks_(blocks.begin(), blocks.end()) {
  open();
}

void SentPrompt::open() {
  for (bool room = false; !room;) {
    out_.reset();
    to_ = streams_.attached();
    auto out = to_->streamer().stream_out({.sequence = step_.sequence,
                                           .attempt = step_.attempt,
                                           .to = kDecode,
                                           .blocks = blocks_,
                                           .tokens = step_.end()});
    if (to_->lost(out, "stream_out")) continue;
    out_.emplace(std::move(out).value());
    streams_.await("room for a prompt", [&] {
      const auto ready = out_->ready();
      if (to_->lost(ready, "room")) return true;
      room = *ready;
      return room;
    });
  }
}

bool SentPrompt::give_layers(unsigned first, Stream stream) {
  for (unsigned layer = first; layer < given_; ++layer) {
    if (to_->lost(out_->layer(layer, stream), "layer")) return false;
  }
  return true;
}

void SentPrompt::layer(unsigned layer, Stream stream) {
  given_ = layer + 1;
  if (!give_layers(layer, stream)) stream_again(stream);
}

void SentPrompt::stream_again(Stream stream) {
  do {
    open();
  } while (!give_layers(0, stream));
}

void SentPrompt::complete(Stream stream) {
  while (!finish(stream)) stream_again(stream);
}

bool SentPrompt::finish(Stream stream) {
  if (to_->lost(out_->finish("", stream), "finish")) return false;
  // Not to be left before: its blocks are written by others then, and it arrives all the same.
  while (!example::must(out_->copied(), "copies")) (void)to_->streamer().wait(Streams::kOneWait);
  bool kept = true;
  streams_.await("the end of copies", [&] {
    const auto is_kept = out_->kept();
    kept = !to_->lost(is_kept, "copies");
    return !kept || *is_kept;
  });
  return kept;
}

}  // namespace aqua::pipeline
