// SPDX-License-Identifier: Apache-2.0
// Streamer moves the KV of sequences from one pipeline to another whose stages, ranks, blocks and
// order of heads may all differ: from prefill to decode, layer by layer while the prompt is still
// computed (DéjàVu, 4.1 and 4.2.1). Each process of both pipelines has one. Which rank sends what
// to whom follows from the two shapes (map_shards); each destination rank gets exactly its part.
//
//   // In a process of the pipeline that prefills, which has the Streamer `prefill`:
//   auto out = prefill.stream_out({.sequence = 7, .to = "decode", .blocks = blocks, .tokens = 20});
//   while (!*out->ready() && prefill.wait(1s)) continue;  // room there, before prefill begins
//   for (unsigned layer = 0; layer < 2; ++layer) {
//     launch_layer(layer, stream);
//     auto streamed = out->layer(layer, stream);  // behind the kernel
//   }
//   auto finished = out->finish("pending token 9", stream);
//   // In one of the pipeline that decodes, which has `decode` and has admitted a sequence:
//   std::vector<kv_stream::Arrived> arrived;
//   do arrived = decode.arrived();
//   while (arrived.empty() && decode.wait(1s));
//   for (const kv_stream::Arrived& each : arrived) {
//     auto in = decode.stream_in(each.sequence, own_blocks, own_stream);
//     for (unsigned layer = 0; layer < 2; ++layer) {
//       auto waits = in->stream_wait(own_stream, layer);
//       launch_attention(layer, own_stream);
//     }
//   }
//
// Once StreamOut::copied() the sender's blocks are its own again; once kept() the sequence arrives
// also if the sender dies; once landed() the receivers have it all. Streamer::finish() ends a
// sequence whose answer is complete.
//
// Table 1 of the paper has stream_out over scatter over flush, and stream_in over gather over
// fetch. Its *scatter* collects many pieces of the cache in one place, which this library calls
// gather, as CUDA kernels do. Here both are done by a Carrier that copies
// (aqua/handoff/carrier.hpp).
//
// A sequence that some rank of the sender could not stream to the end is streamed again as another
// attempt, by that pipeline or another one. Attempts never mix: the highest counts.
//
// Threads: one at a time.
// Owns:    nothing of device memory. Carrier and layout outlive it and all that it makes. What the
//          carrier accepts, delivers, supersedes and cuts off is the Streamer's alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/handoff/carrier.hpp"
#include "aqua/layout.hpp"
#include "aqua/result.hpp"
#include "aqua/shards.hpp"
#include "aqua/ticket.hpp"
#include "aqua/types.hpp"

namespace aqua::kv_stream {

// A pipeline that streams here or is streamed to.
struct StreamGroup {
  std::string name{};  // 1 to 64 letters, digits, '-' and '_'
  KvShards shards{};
};

struct StreamerOptions {
  std::string group{};  // this process's pipeline ...
  std::uint32_t rank = 0;
  KvShards shards{};  // ... how it has the KV ...
  std::vector<StreamGroup> others{};
};

struct StreamOutOptions {
  std::uint64_t sequence = 0;
  std::uint32_t attempt = 1;  // higher than each before it for this sequence; 1 to 33,554,432
  std::string to{};           // one of StreamerOptions::others
  BlockList blocks{};         // the sequence's, in the order of its tokens; copied. None: they are
                              // given later, to StreamOut::set_blocks()
  std::uint32_t tokens = 0;   // that are streamed, from the first on
};

// A sequence on its way out. Dropping it before finish() cancels it.
class AQUA_API StreamOut {
 public:
  StreamOut(StreamOut&&) noexcept;
  StreamOut& operator=(StreamOut&&) noexcept;
  ~StreamOut();

  // Whether all receivers have room: before that nothing can be streamed. Any error: it cannot be
  // streamed any more; stream it again as another attempt.
  [[nodiscard]] Result<bool> ready() const;
  // Gives blocks to a sequence that was opened without: as StreamOutOptions::blocks, with room for
  // all of its tokens.
  //   invalid_argument     blocks that are none, or too few
  //   failed_precondition  it has blocks
  //   cancelled            it was taken back
  [[nodiscard]] Result<void> set_blocks(BlockList blocks);
  // The layer's keys and values of all tokens are written by the work posted to `stream` so far.
  // Copies them behind it. Each layer once, in any order; counted as the layout does.
  //   invalid_argument     no such layer, or it was given before; or a stream that is none
  //   failed_precondition  not ready(), no blocks, finish() was called, or the stream is captured
  // Any other error: it cannot be streamed any more, and where a part of the layer could not be
  // copied it is taken back, as by cancel().
  [[nodiscard]] Result<void> layer(unsigned layer, Stream stream);
  // All layers were given. `words` are the engine's to whoever takes the sequence, at most 3,072
  // bytes, the same of all ranks: the token that is pending, say.
  //   failed_precondition  a layer is missing, it was called before, or the stream is captured
  //   invalid_argument     the words, or a stream that is none
  // Any other error: it cannot be streamed any more, and is taken back, as by cancel().
  [[nodiscard]] Result<void> finish(const std::string& words, Stream stream);
  // Whether the copies have left the blocks, which are free for others then. However slow a
  // receiver is, it does not come into this. An error: as a Ticket's, the first one's once no copy
  // reads them any more.
  [[nodiscard]] Result<bool> copied() const;
  // Whether it outlives this process: the receivers get it, also if this process ends now.
  [[nodiscard]] Result<bool> kept() const;
  // Whether the receivers have all of it where they need it; true also where a courier brings it to
  // another server, and a receiver there did not want it while the couriers had no connection.
  //   failed_precondition  a receiver has refused it (its status says why), does not want it any
  //                        more, or could not copy it: it does not land there
  [[nodiscard]] Result<bool> landed() const;
  // Takes back what no receiver has taken. All calls but copied() are refused then (cancelled).
  void cancel();

 private:
  friend class Streamer;
  struct AQUA_LOCAL Parts;
  explicit StreamOut(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

// A sequence whose bytes come into this process's blocks.
class AQUA_API StreamIn {
 public:
  StreamIn(StreamIn&&) noexcept;
  StreamIn& operator=(StreamIn&&) noexcept;
  ~StreamIn();

  // As those of a Ticket (aqua/ticket.hpp), with layers counted as the layout does: an error comes
  // once nothing is written to the blocks, or the layer, any more. Once done() is true the senders
  // are told, unless nothing is carried any more: the bytes are here all the same.
  [[nodiscard]] Result<bool> done();
  [[nodiscard]] Result<void> wait();
  [[nodiscard]] Result<bool> layer_done(unsigned layer) const;
  [[nodiscard]] Result<void> stream_wait(Stream stream, unsigned layer) const;

 private:
  friend class Streamer;
  struct AQUA_LOCAL Parts;
  explicit StreamIn(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

// A sequence of which everything for this rank is there to be taken.
struct Arrived {
  std::uint64_t sequence = 0;
  std::uint32_t attempt = 1;
  std::uint32_t tokens = 0;
  std::string words{};
  friend bool operator==(const Arrived&, const Arrived&) = default;
};

// An attempt that does not come any more, as not all of its ranks have streamed it to the end.
struct CutOff {
  std::uint64_t sequence = 0;
  std::uint32_t attempt = 1;
  friend bool operator==(const CutOff&, const CutOff&) = default;
};

struct StreamerStatus {
  std::uint64_t refused = 0;  // parcels that cannot be; none of their bytes landed
  std::string error{};        // why the last one was
  std::uint64_t arrived = 0;  // attempts that arrived() has told of
  std::uint64_t cut_off = 0;  // ... and cut_off()
};

class AQUA_API Streamer {
 public:
  // The name under which this process takes parcels: its carrier's role.
  [[nodiscard]] static std::string role(const std::string& group, std::uint32_t rank);

  //   invalid_argument     a name, a rank or a shape that cannot be; or a layout that is not the
  //                        rank's: its layers, planes or heads
  //   failed_precondition  another group's shape is of another model
  [[nodiscard]] static Result<Streamer> create(Carrier& carrier, const Layout& layout,
                                               const StreamerOptions& options);
  Streamer(Streamer&&) noexcept;
  Streamer& operator=(Streamer&&) noexcept;
  ~Streamer();

  // Asks each receiver for room. Nothing has to be computed yet, and no block be there.
  //   not_found         no such group
  //   invalid_argument  no tokens, or more than the blocks have; an attempt that cannot be
  //   as Carrier::open()
  // An attempt that was made before is told by ready(): aborted.
  [[nodiscard]] Result<StreamOut> stream_out(const StreamOutOptions& options);

  // There is room for so many more sequences of this group: to be said anew for each of which
  // finish() has returned true. A later attempt of a sequence has the room of the first.
  //   not_found         no such group
  //   invalid_argument  more than 65,536 in all, of which finish() has not returned true: there is
  //                     room for none of these
  [[nodiscard]] Result<void> admit(const std::string& group, std::uint32_t sequences);
  // Sequences that have come since the last call. One that is told again is of a higher attempt:
  // what was streamed in of the earlier one is of no use any more.
  // `wanted` is asked of each that is not told yet, also where only a part of it has come: what is
  // not wanted is given up, and there is room for another in its place. A sequence that has ended
  // is not wanted: an attempt that began before its end may come after it, or never be complete.
  [[nodiscard]] std::vector<Arrived> arrived(
      const std::function<bool(std::uint64_t sequence)>& wanted = {});
  // Moves a sequence that has arrived into blocks of this process, behind the work posted to
  // `stream` so far.
  //   not_found         it has not arrived
  //   invalid_argument  fewer blocks than its tokens take, or a part that has not all of its layers
  //   as Carrier::check_landable(), of all parts before the first one lands
  // Nothing is on its way into the blocks then. After an error of the device, which can come once
  // copies are queued, they have ended: that is waited for.
  [[nodiscard]] Result<StreamIn> stream_in(std::uint64_t sequence, BlockList blocks, Stream stream);
  // The sequence is needed no more, once the work posted to `stream` so far has ended; nobody gets
  // it again. Where it was never streamed in, or a copy into the blocks has failed by now, its
  // senders are told that it does not land.
  // True: arrived() had told of it. False: it had not, of its highest attempt; what has come of
  // that is given up, and there is room for another in its place already. Room that was promised
  // for what has not come is there again once its sender ends, or takes it back.
  //   invalid_argument, failed_precondition  the stream, as Carrier's: nothing has changed. Where
  //                                          the answer is false it is not looked at
  [[nodiscard]] Result<bool> finish(std::uint64_t sequence, Stream stream);
  // Sequences that arrived and count no more since the last call, as another attempt began:
  // finish() them.
  [[nodiscard]] std::vector<std::uint64_t> superseded();
  // Attempts that do not come, since the last call, each once: a rank that streams them ended, or
  // took back what it had not finished. What comes of them is given up, and there is room for
  // another in their place. No earlier attempt comes any more, a later one may be on its way; and
  // one may be told of whose sequence has ended here.
  [[nodiscard]] std::vector<CutOff> cut_off();

  // Blocks until the carrier has news. False: none came within `patience`.
  [[nodiscard]] bool wait(std::chrono::milliseconds patience);
  [[nodiscard]] StreamerStatus status() const;

 private:
  struct AQUA_LOCAL Parts;
  explicit Streamer(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua::kv_stream
