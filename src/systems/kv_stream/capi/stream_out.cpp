// SPDX-License-Identifier: Apache-2.0
// Sequences on their way out, over the C ABI.
#include <memory>
#include <string>
#include <utility>

#include "capi/callbacks.hpp"
#include "capi/convert.hpp"
#include "capi/sized.hpp"
#include "systems/kv_stream/capi/objects.hpp"

namespace aqua::capi {
namespace {

// Runs use(out) as the only call on its streamer.
template <typename Use>
Result<void> use_stream_out(const char* what, aqua_stream_out handle, Use&& use) {
  AQUA_ASSIGN(const auto object, stream_outs().use(what, handle.id));
  HeldStreamOut& held = *object->held;
  return use_alone(what, held.of, [&](LockedStreamer&) -> Result<void> {
    if (!held.out) return bad_handle(what, Kind::stream_out, handle.id);  // it was not made
    return use(*held.out);
  });
}

// Writes what ask(out), which returns a Result<bool>, answers.
template <typename Ask>
Result<void> ask_stream_out(const char* what, aqua_stream_out handle, int* answer, const Ask& ask) {
  return use_stream_out(what, handle, [&](kv_stream::StreamOut& out) -> Result<void> {
    AQUA_ASSIGN(const bool told, ask(out));
    *answer = told ? 1 : 0;
    return {};
  });
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::Code;
using aqua::Error;
using aqua::Result;
using aqua::kv_stream::StreamOut;

extern "C" {

aqua_error* aqua_streamer_stream_out(aqua_streamer streamer, const aqua_stream_out_options* options,
                                     aqua_stream_out* out) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_streamer_stream_out";
    AQUA_CAPI_NOT_NULL(what, out);
    AQUA_ASSIGN(const auto given,
                take_in<aqua_stream_out_options>("aqua_streamer_stream_out: options", options,
                                                 AQUA_STREAM_OUT_OPTIONS_INIT));
    AQUA_ASSIGN(const auto object, streamers().use(what, streamer.id));
    LockedStreamer& locked = *object->locked;
    AQUA_ASSIGN(const auto blocks,
                to_block_list(what, locked.layout, given.blocks, given.block_count));
    const aqua::kv_stream::StreamOutOptions wanted{.sequence = given.sequence,
                                                   .attempt = given.attempt,
                                                   .to = string_or_empty(given.to),
                                                   .blocks = blocks,
                                                   .tokens = given.tokens};
    return insert_then<StreamOutObject>(
        what, stream_outs(), object, std::make_unique<HeldStreamOut>(locked), out,
        [&](HeldStreamOut& held) {
          return use_alone(what, locked, [&](LockedStreamer& of) -> Result<void> {
            AQUA_ASSIGN(auto made, of.streamer->stream_out(wanted));
            held.out.emplace(std::move(made));
            return {};
          });
        });
  });
}

aqua_error* aqua_stream_out_ready(aqua_stream_out out, int* ready) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_stream_out_ready";
    AQUA_CAPI_NOT_NULL(what, ready);
    return ask_stream_out(what, out, ready, [](const StreamOut& asked) { return asked.ready(); });
  });
}

aqua_error* aqua_stream_out_set_blocks(aqua_stream_out out, const uint32_t* blocks,
                                       size_t block_count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_stream_out_set_blocks";
    AQUA_ASSIGN(const auto object, stream_outs().use(what, out.id));
    AQUA_ASSIGN(const auto given,
                to_block_list(what, object->held->of.layout, blocks, block_count));
    return use_stream_out(what, out, [&](StreamOut& used) { return used.set_blocks(given); });
  });
}

aqua_error* aqua_stream_out_layer(aqua_stream_out out, uint32_t layer, aqua_stream stream) {
  return call([&] {
    return use_stream_out("aqua_stream_out_layer", out,
                          [&](StreamOut& used) { return used.layer(layer, to_stream(stream)); });
  });
}

aqua_error* aqua_stream_out_finish(aqua_stream_out out, const void* words, size_t words_bytes,
                                   aqua_stream stream) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_stream_out_finish";
    if (words_bytes != 0) AQUA_CAPI_NOT_NULL(what, words);
    if (words_bytes > AQUA_MAX_WORDS_BYTES) {  // before any of it is read
      return Error{
          Code::invalid_argument,
          aqua::concat(what, ": ", words_bytes, " bytes of words, at most ", AQUA_MAX_WORDS_BYTES)};
    }
    std::string said;
    if (words_bytes != 0) said.assign(static_cast<const char*>(words), words_bytes);
    return use_stream_out(what, out,
                          [&](StreamOut& used) { return used.finish(said, to_stream(stream)); });
  });
}

aqua_error* aqua_stream_out_copied(aqua_stream_out out, int* copied) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_stream_out_copied";
    AQUA_CAPI_NOT_NULL(what, copied);
    return ask_stream_out(what, out, copied, [](const StreamOut& asked) { return asked.copied(); });
  });
}

aqua_error* aqua_stream_out_kept(aqua_stream_out out, int* kept) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_stream_out_kept";
    AQUA_CAPI_NOT_NULL(what, kept);
    return ask_stream_out(what, out, kept, [](const StreamOut& asked) { return asked.kept(); });
  });
}

aqua_error* aqua_stream_out_landed(aqua_stream_out out, int* landed) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_stream_out_landed";
    AQUA_CAPI_NOT_NULL(what, landed);
    return ask_stream_out(what, out, landed, [](const StreamOut& asked) { return asked.landed(); });
  });
}

aqua_error* aqua_stream_out_cancel(aqua_stream_out out) {
  return call([&] {
    return use_stream_out("aqua_stream_out_cancel", out, [](StreamOut& used) -> Result<void> {
      used.cancel();
      return {};
    });
  });
}

aqua_error* aqua_stream_out_free(aqua_stream_out out) {
  return free_waiting("aqua_stream_out_free", stream_outs(), out.id);
}

}  // extern "C"
