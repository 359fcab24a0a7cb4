// SPDX-License-Identifier: Apache-2.0
#include "aqua/kv_stream/microbatch_swap.hpp"

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "aqua/side_stream.hpp"
#include "aqua/stream_mark.hpp"
#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "systems/kv_stream/act/away_microbatch.hpp"
#include "systems/kv_stream/act/check_options.hpp"

// Order between streams, which is all that ties turns together:
//   - A buffer is filled behind the stream out, which waits for the kernels and the write-backs of
//     the turn that had the buffer before, and behind the write-backs of the microbatch itself.
//   - Kernels run behind the copies into their buffer and out of it.
// Invariant: once `in` is over, a buffer that `holds` a microbatch has all of its held blocks.
namespace aqua {

using kv_stream::AwayMicrobatch;
using kv_stream::Tickets;

class MicrobatchSwap::Impl {
 public:
  static Result<std::unique_ptr<Impl>> create(Runtime& runtime,
                                              const MicrobatchSwapOptions& options) {
    AQUA_TRY(kv_stream::check(options));
    AQUA_ASSIGN(auto in, SideStream::create(runtime));
    AQUA_ASSIGN(auto out, SideStream::create(runtime));
    AQUA_ASSIGN(auto begun, StreamMark::create(runtime));
    auto impl = std::make_unique<Impl>(runtime, options.name, std::move(in), std::move(out),
                                       std::move(begun));
    for (const Layout& buffer : options.buffers) {
      AQUA_ASSIGN(auto layers, kv_stream::layers_of(buffer));
      impl->buffers_.push_back({.layers = std::move(layers)});
    }
    for (std::uint32_t m = 0; m < options.microbatches; ++m) {
      AQUA_ASSIGN(auto away, impl->allocate(m));
      impl->microbatches_.push_back({.away = std::move(away)});
    }
    return impl;
  }
  Impl(Runtime& runtime, std::string name, SideStream in, SideStream out, StreamMark begun)
      : runtime_(detail::Internals::view(runtime)),
        name_(std::move(name)),
        begun_(std::move(begun)),
        in_(std::move(in)),
        out_(std::move(out)) {}

  Result<std::uint32_t> begin_turn(Stream stream, std::uint32_t microbatch, std::uint32_t next) {
    AQUA_TRY(poll());
    AQUA_TRY(check_between("begin_turn", microbatch));
    if (next != kInOrder) AQUA_TRY(check_number("begin_turn", next));
    Microbatch& batch = microbatches_[microbatch];
    if (batch.life->lost) return *batch.life->lost;
    // Refuses a stream under capture, and a fork. Nothing is put behind what the stream does now:
    // whoever used a buffer before has ended his turn, and the copies are behind that.
    AQUA_TRY(begun_.set(stream));
    std::optional<std::uint32_t> place = buffer_of(microbatch);
    const bool foreseen = place.has_value();
    if (!foreseen) {
      place = free_buffer();
      AQUA_TRY(load(microbatch, *place));
    }
    Buffer& buffer = buffers_[*place];
    AQUA_TRY(await(stream, buffer.others));
    const auto came = await(stream, buffer.in);
    if (came.ok() && came.value()) return lose(microbatch, *came.value());
    AQUA_TRY(came);
    buffer.others.clear();  // from here on this stream is behind them
    turn_ = Turn{.stream = stream,
                 .microbatch = microbatch,
                 .next = next,
                 .buffer = *place,
                 .tickets = std::move(buffer.in)};
    buffer.in.clear();
    last_ = *place;
    ++(foreseen ? status_.foreseen : status_.unforeseen);
    if (buffers_.size() > 1) foresee(1 - *place);
    return *place;
  }

  Result<std::uint64_t> end_turn(BlockList writes) {
    if (!turn_) return Error{Code::failed_precondition, "end_turn: no turn was begun"};
    Buffer& buffer = buffers_[turn_->buffer];
    AQUA_TRY(buffer.layers.front().check(writes));
    AQUA_TRY(out_.run_after(turn_->stream));
    Microbatch& batch = microbatches_[turn_->microbatch];
    Tickets out;
    const auto written = batch.away.offload(runtime_, buffer.layers, writes, out_.stream(), out);
    buffer.others.insert(buffer.others.end(), out.begin(), out.end());
    Turn turn = std::move(*turn_);
    turn_.reset();
    if (!written.ok()) return lose(turn.microbatch, written.error());
    batch.away.hold(writes);
    status_.written_bytes += *written;
    turn.tickets.insert(turn.tickets.end(), out.begin(), out.end());
    const std::uint32_t place = turn.buffer;
    past_.push_back({.number = ++status_.turns,
                     .microbatch = turn.microbatch,
                     .life = batch.life,
                     .tickets = std::move(turn.tickets)});
    if (buffers_.size() == 1) foresee(place, turn.microbatch, turn.next);
    return status_.turns;
  }

  Result<bool> turn_done(std::uint64_t turn) {
    if (turn == 0 || turn > status_.turns) {
      return Error{Code::invalid_argument,
                   concat("turn_done: turn ", turn, ", where ", status_.turns, " have ended")};
    }
    AQUA_TRY(poll());
    if (const auto failed = failed_.find(turn); failed != failed_.end()) return failed->second;
    return turn <= done_;
  }

  Result<void> drop(std::uint32_t microbatch, BlockList blocks) {
    AQUA_TRY(check_idle("drop", microbatch));
    AQUA_TRY(buffers_.front().layers.front().check(blocks));
    microbatches_[microbatch].away.drop(blocks);
    return {};
  }

  Result<void> clear(std::uint32_t microbatch) {
    AQUA_TRY(check_idle("clear", microbatch));
    Microbatch& batch = microbatches_[microbatch];
    if (const auto place = buffer_of(microbatch)) empty(buffers_[*place]);
    batch.away.drop_all();
    if (batch.life->lost) {
      AQUA_ASSIGN(auto away, allocate(microbatch));
      batch.away = std::move(away);
    }
    batch.life = std::make_shared<Life>();
    return {};
  }

  [[nodiscard]] MicrobatchSwapStatus status() const {
    MicrobatchSwapStatus status = status_;
    for (const Microbatch& batch : microbatches_) {
      status.away_bytes += batch.away.bytes();
      status.away_peer_bytes += batch.away.peer_bytes();
    }
    return status;
  }

 private:
  struct Buffer {
    std::vector<Layout> layers{};
    std::optional<std::uint32_t> holds{};
    Tickets in{};      // that no turn has waited for
    Tickets others{};  // out of it, and into it for nothing: only to be waited for
  };
  // What a microbatch has until it is cleared. Turns that are under way keep it until they are
  // over.
  struct Life {
    std::optional<Error> lost{};
  };
  struct Microbatch {
    AwayMicrobatch away;
    std::shared_ptr<Life> life = std::make_shared<Life>();
  };
  struct Turn {
    Stream stream;
    std::uint32_t microbatch = 0, next = 0, buffer = 0;
    Tickets tickets{};  // that it depends on
  };
  struct PastTurn {
    std::uint64_t number = 0;
    std::uint32_t microbatch = 0;
    std::shared_ptr<Life> life{};
    Tickets tickets{};  // not seen to be over
  };

  Result<AwayMicrobatch> allocate(std::uint32_t microbatch) {
    return AwayMicrobatch::create(runtime_, buffers_.front().layers,
                                  concat(name_, " ", microbatch));
  }

  [[nodiscard]] Result<void> check_number(const char* call, std::uint32_t microbatch) const {
    if (microbatch < microbatches_.size()) return {};
    return Error{Code::invalid_argument, concat(call, ": microbatch ", microbatch, ", where ",
                                                microbatches_.size(), " take turns")};
  }
  [[nodiscard]] Result<void> check_between(const char* call, std::uint32_t microbatch) const {
    AQUA_TRY(check_number(call, microbatch));
    if (!turn_) return {};
    return Error{Code::failed_precondition,
                 concat(call, ": the turn of microbatch ", turn_->microbatch, " has not ended")};
  }
  [[nodiscard]] Result<void> check_idle(const char* call, std::uint32_t microbatch) const {
    AQUA_TRY(check_number(call, microbatch));
    if (turn_ && turn_->microbatch == microbatch) return check_between(call, microbatch);
    return {};
  }

  [[nodiscard]] std::optional<std::uint32_t> buffer_of(std::uint32_t microbatch) const {
    for (std::uint32_t i = 0; i < buffers_.size(); ++i) {
      if (buffers_[i].holds == microbatch) return i;
    }
    return std::nullopt;
  }

  // One that holds nothing, or else the one that was used least lately.
  [[nodiscard]] std::uint32_t free_buffer() const {
    for (std::uint32_t i = 0; i < buffers_.size(); ++i) {
      if (!buffers_[i].holds) return i;
    }
    return buffers_.size() == 1 ? 0 : 1 - last_;
  }

  // It has nobody's blocks. Copies into it may be under way.
  static void empty(Buffer& buffer) {
    buffer.holds.reset();
    buffer.others.insert(buffer.others.end(), buffer.in.begin(), buffer.in.end());
    buffer.in.clear();
  }

  Result<void> load(std::uint32_t microbatch, std::uint32_t place) {
    Buffer& buffer = buffers_[place];
    empty(buffer);
    AQUA_TRY(in_.run_after(out_.stream()));
    const auto fetched =
        microbatches_[microbatch].away.fetch(runtime_, buffer.layers, in_.stream(), buffer.in);
    if (!fetched.ok()) {
      empty(buffer);
      if (fetched.error().code == Code::data_loss) return lose(microbatch, fetched.error());
      return fetched.error();
    }
    buffer.holds = microbatch;
    status_.fetched_bytes += *fetched;
    return {};
  }

  // Has the next one come into a buffer. Where it cannot, begin_turn() will say so.
  void foresee(std::uint32_t place) { foresee(place, turn_->microbatch, turn_->next); }
  void foresee(std::uint32_t place, std::uint32_t after, std::uint32_t next) {
    const auto count = static_cast<std::uint32_t>(microbatches_.size());
    for (std::uint32_t i = 1; next == kInOrder && i < count; ++i) {
      const std::uint32_t at = (after + i) % count;
      if (!microbatches_[at].away.empty() && !microbatches_[at].life->lost) next = at;
    }
    if (next == kInOrder || microbatches_[next].away.empty()) return;
    if (!microbatches_[next].life->lost && !buffer_of(next)) (void)load(next, place);
  }

  // Has the stream wait. The first loss among the copies that are over; those of others than `in`
  // have been told of, or matter to nobody.
  static Result<std::optional<Error>> await(Stream stream, const Tickets& tickets) {
    std::optional<Error> loss;
    for (const auto& ticket : tickets) {
      const auto waits = ticket->stream_wait(stream, 0);
      if (waits.ok()) continue;
      if (waits.error().code != Code::data_loss) return waits.error();
      if (!loss) loss = waits.error();
    }
    return loss;
  }

  Error lose(std::uint32_t microbatch, const Error& why) {
    return lose(microbatch, *microbatches_[microbatch].life, why);
  }
  static Error lose(std::uint32_t microbatch, Life& life, const Error& why) {
    auto& lost = life.lost;
    if (!lost) {
      lost = Error{Code::data_loss,
                   concat("microbatch swap: microbatch ", microbatch, ": ", why.message,
                          "; its KV is lost: clear() it, and compute it again")};
    }
    return *lost;
  }

  // Turns end in their order. One whose microbatch is lost by then may have read what was lost,
  // also where it was cleared since: of several turns on one buffer the first alone has the
  // tickets.
  Result<void> poll() {
    while (!past_.empty()) {
      PastTurn& turn = past_.front();
      while (!turn.tickets.empty()) {
        const auto done = turn.tickets.back()->done();
        if (!done.ok() && done.error().code != Code::data_loss) return done.error();
        if (done.ok() && !*done) return {};
        if (!done.ok()) (void)lose(turn.microbatch, *turn.life, done.error());
        turn.tickets.pop_back();
      }
      if (turn.life->lost) failed_.emplace(turn.number, *turn.life->lost);
      done_ = turn.number;
      past_.pop_front();
    }
    return {};
  }

  Runtime runtime_;  // a view of the caller's, which may move his
  const std::string name_;
  std::vector<Microbatch> microbatches_{};
  std::vector<Buffer> buffers_{};
  std::optional<Turn> turn_{};
  std::deque<PastTurn> past_{};
  std::map<std::uint64_t, Error> failed_{};  // turns, by number
  std::uint64_t done_ = 0;
  std::uint32_t last_ = 0;  // buffer of the last turn
  MicrobatchSwapStatus status_{};
  StreamMark begun_;     // of the last turn
  SideStream in_, out_;  // gone first: they wait for the copies
};

MicrobatchSwap::MicrobatchSwap(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
MicrobatchSwap::MicrobatchSwap(MicrobatchSwap&&) noexcept = default;
MicrobatchSwap& MicrobatchSwap::operator=(MicrobatchSwap&&) noexcept = default;
MicrobatchSwap::~MicrobatchSwap() = default;

Result<MicrobatchSwap> MicrobatchSwap::create(Runtime& runtime,
                                              const MicrobatchSwapOptions& options) {
  AQUA_ASSIGN(auto impl, Impl::create(runtime, options));
  return MicrobatchSwap(std::move(impl));
}
Result<std::uint32_t> MicrobatchSwap::begin_turn(Stream stream, std::uint32_t microbatch,
                                                 std::uint32_t next) {
  return impl_->begin_turn(stream, microbatch, next);
}
Result<std::uint64_t> MicrobatchSwap::end_turn(BlockList writes) {
  return impl_->end_turn(writes);
}
Result<bool> MicrobatchSwap::turn_done(std::uint64_t turn) {
  return impl_->turn_done(turn);
}
Result<void> MicrobatchSwap::drop(std::uint32_t microbatch, BlockList blocks) {
  return impl_->drop(microbatch, blocks);
}
Result<void> MicrobatchSwap::clear(std::uint32_t microbatch) {
  return impl_->clear(microbatch);
}
MicrobatchSwapStatus MicrobatchSwap::status() const {
  return impl_->status();
}

}  // namespace aqua
