// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/act/stream_out.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/kv_stream/act/all_done.hpp"

namespace aqua::kv_stream {

Result<void> StreamOut::Parts::open(const std::vector<Route>& routes, const std::string& to) {
  for (const Route& route : routes) {
    const StreamEnd there{to, route.peer};
    const auto parcel = outbox->open(
        {id_of(note.from, there, note.sequence), turn_of(note.attempt)}, role_of(there));
    if (!parcel.ok()) {
      recall();
      return parcel.error();
    }
    ways.push_back({*parcel, route.pieces});
  }
  return {};
}

Result<void> check_room(const char* call, const Layout& layout, BlockList blocks,
                        std::uint64_t tokens) {
  AQUA_TRY(layout.check(blocks));
  const std::uint64_t room = blocks.size() * std::uint64_t{layout.spec().axes.tokens.count};
  if (tokens <= room) return {};
  return Error{Code::invalid_argument,
               concat(call, ": ", tokens, " tokens in ", blocks.size(), " blocks")};
}

Result<void> StreamOut::Parts::check_recalled() const {
  if (!recalled) return {};
  return Error{Code::cancelled, concat("sequence ", note.sequence, " was taken back")};
}

Result<bool> StreamOut::Parts::all_are(ParcelState least) const {
  AQUA_TRY(check_recalled());
  bool all = true;
  for (const Way& way : ways) {
    AQUA_ASSIGN(const ParcelState state, outbox->state(way.parcel));
    all = all && state >= least;
  }
  return all;
}

// What a receiver has taken stays with it: that attempt may be complete there.
void StreamOut::Parts::recall() {
  for (const Way& way : ways) (void)outbox->carrier().recall(way.parcel);
  recalled = true;
  forget();
}

void StreamOut::Parts::recall_unless_refused(const Error& error, bool is_first) {
  const bool is_refusal =
      error.code == Code::invalid_argument || error.code == Code::failed_precondition;
  if (!is_first || !is_refusal) recall();
}

void StreamOut::Parts::forget() {
  for (const Way& way : ways) outbox->forget(way.parcel);
  ways.clear();
}

StreamOut::StreamOut(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
StreamOut::StreamOut(StreamOut&&) noexcept = default;
StreamOut& StreamOut::operator=(StreamOut&& other) noexcept {
  std::swap(parts_, other.parts_);
  return *this;
}
StreamOut::~StreamOut() {
  if (!parts_) return;
  if (!parts_->finished) parts_->recall();
  parts_->forget();
}

Result<bool> StreamOut::ready() const {
  return parts_->all_are(ParcelState::open);
}
Result<bool> StreamOut::copied() const {
  if (!parts_->finished && !parts_->recalled) return false;
  // The carrier lets go of what was taken back, and tells when it is read no more, once it is
  // asked.
  if (parts_->recalled) parts_->outbox->hear();
  return all_done(parts_->copies);
}
Result<bool> StreamOut::kept() const {
  if (!parts_->finished) return false;
  return parts_->all_are(ParcelState::closed);
}
Result<bool> StreamOut::landed() const {
  if (!parts_->finished) return false;
  auto landed = parts_->all_are(ParcelState::confirmed);
  for (const Parts::Way& way : parts_->ways)
    AQUA_TRY(parts_->outbox->check_not_declined(way.parcel));
  return landed;
}

Result<void> StreamOut::set_blocks(BlockList blocks) {
  AQUA_TRY(parts_->check_recalled());
  if (!parts_->blocks.empty())
    return Error{Code::failed_precondition,
                 concat("set_blocks: sequence ", parts_->note.sequence, " has blocks")};
  AQUA_TRY(check_room("set_blocks", parts_->layout, blocks, parts_->tokens));
  parts_->blocks.assign(blocks.begin(), blocks.end());
  return {};
}

Result<void> StreamOut::layer(unsigned layer, Stream stream) {
  if (layer >= parts_->given.size() || parts_->given[layer])
    return Error{Code::invalid_argument,
                 concat("layer ", layer, ": ",
                        layer < parts_->given.size() ? "it was given before" : "there is none")};
  AQUA_ASSIGN(const bool room, ready());
  if (!room || parts_->finished || parts_->blocks.empty())
    return Error{Code::failed_precondition,
                 concat("layer ", layer, " of sequence ", parts_->note.sequence, ": ",
                        !room              ? "a receiver has no room for it yet"
                        : parts_->finished ? "it is finished"
                                           : "it has no blocks yet")};
  bool is_first = true;
  for (const Parts::Way& way : parts_->ways) {
    for (const ShardPiece& piece : way.pieces) {
      const IndexRange& layers = piece.from.layers;
      if (layer < layers.first || layer - layers.first >= layers.count) continue;
      auto copy = parts_->outbox->carrier().fill(
          way.parcel,
          {.layers = {layer, 1}, .tokens = {0, parts_->tokens}, .heads = piece.from.heads},
          parts_->blocks, stream);
      if (!copy.ok()) {
        parts_->recall_unless_refused(copy.error(), is_first);
        return std::move(copy).error();
      }
      parts_->copies.push_back(std::move(copy).value());
      is_first = false;
    }
  }
  parts_->given[layer] = true;
  return {};
}

Result<void> StreamOut::finish(const std::string& words, Stream stream) {
  if (words.size() > kLongestWords)
    return Error{Code::invalid_argument,
                 concat(words.size(), " bytes of words, at most ", kLongestWords)};
  const auto missing = std::ranges::find(parts_->given, false);
  if (parts_->finished || missing != parts_->given.end())
    return Error{Code::failed_precondition,
                 parts_->finished
                     ? std::string("the sequence is finished")
                     : concat("layer ", missing - parts_->given.begin(), " was not given")};
  AQUA_TRY(parts_->check_recalled());
  StreamNote note = parts_->note;
  note.words = words;
  const std::string text = write_note(note);
  for (const Parts::Way& way : parts_->ways) {
    auto closed =
        parts_->outbox->carrier().close(way.parcel, parts_->blocks, parts_->tokens, text, stream);
    if (closed.ok()) continue;
    parts_->recall_unless_refused(closed.error(), &way == &parts_->ways.front());
    return closed;
  }
  parts_->finished = true;
  return {};
}

void StreamOut::cancel() {
  parts_->recall();
}

}  // namespace aqua::kv_stream
