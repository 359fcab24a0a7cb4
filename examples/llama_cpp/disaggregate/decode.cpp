// SPDX-License-Identifier: Apache-2.0
// Decode: as many answers at once as it has slots, a token of each in turn. What a decode process
// that was killed had begun comes to its successor as it came to it, and is decoded again.
#include <unistd.h>

#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "disaggregate/messages.hpp"
#include "disaggregate/roles.hpp"
#include "disaggregate/streamed_cache.hpp"
#include "hash.hpp"
#include "json_lines.hpp"
#include "must.hpp"

namespace aqua::llama_example {
namespace {

using example::must;
using namespace std::chrono_literals;

class Decode {
 public:
  Decode(const Options& options, const Model& model)
      : engine_(model, options.slots, options.most_tokens(), options.threads),
        cache_(options, model, engine_, options.slots),
        orders_(STDIN_FILENO) {
    for (unsigned slot = options.slots; slot-- > 0;) free_slots_.push_back(slot);
  }

  void run() {
    (void)example::write_line(STDOUT_FILENO, {{"ready", true}});
    hear_what_is_answered();
    while (!orders_.ended() || !running_.empty() || !waiting_.empty()) {
      take_arrived();
      if (running_.empty()) {
        (void)cache_.streamer().wait(50ms);
        (void)orders_.read(0ms);  // for its end
      }
      for (auto each = running_.begin(); each != running_.end();) {
        const auto here = each++;
        step(here->first, here->second);
      }
    }
  }

 private:
  struct Running {
    unsigned slot = 0;
    unsigned past = 0;  // tokens in the slot
    Said said{};
    std::uint32_t output_tokens = 0;
  };

  void hear_what_is_answered() {
    for (;;) {
      for (const std::string& line : orders_.read(1h)) {
        const auto told = example::parse_line(line).get<Answered>();
        answered_.insert(told.answered.begin(), told.answered.end());
        return;
      }
      if (orders_.ended()) return;
    }
  }

  void take_arrived() {
    // A newer attempt has begun, since prefill died before it could say that the keeper had this
    // one. What came of it counts no more.
    for (const std::uint64_t sequence : cache_.streamer().superseded()) end(sequence);
    (void)cache_.streamer().cut_off();  // another attempt comes
    const auto wanted = [this](std::uint64_t sequence) { return !answered_.contains(sequence); };
    for (const kv_stream::Arrived& each : cache_.streamer().arrived(wanted)) {
      stop(each.sequence);  // what runs is of an earlier attempt
      waiting_.push_back(each);
    }
    // Sequences of a decode process that was killed take no room that this one has promised: there
    // may be more than slots.
    while (!waiting_.empty() && !free_slots_.empty()) {
      const kv_stream::Arrived next = std::move(waiting_.front());
      waiting_.pop_front();
      begin(next);
    }
  }

  void begin(const kv_stream::Arrived& arrived) {
    const auto pending = nlohmann::json::parse(arrived.words).get<Pending>();
    const unsigned slot = free_slots_.back();
    free_slots_.pop_back();
    const BlockList blocks = cache_.blocks(slot);
    auto in =
        must(cache_.streamer().stream_in(arrived.sequence, blocks, cache_.stream()), "stream_in");
    must(in.wait(), "stream_in");
    cache_.get(slot, blocks, arrived.tokens);
    running_[arrived.sequence] = {
        .slot = slot,
        .past = arrived.tokens,
        .said = {arrived.sequence, 0, pending.token, add_hash(0, pending.logits_hash)},
        .output_tokens = pending.output_tokens};
    say(running_[arrived.sequence].said);
  }

  void step(std::uint64_t sequence, Running& its) {
    const Prediction next = engine_.decode(its.slot, its.past, {&its.said.token, 1});
    ++its.past;
    its.said = {sequence, its.said.index + 1, next.token,
                add_hash(its.said.logits_hash, next.logits_hash)};
    say(its.said);
    if (its.said.index + 1 == its.output_tokens) answer(sequence);
  }

  static void say(const Said& said) {
    if (!example::write_line(STDOUT_FILENO, said))
      throw example::Failure("nobody reads the answers");
  }

  void answer(std::uint64_t sequence) {
    answered_.insert(sequence);
    end(sequence);
  }

  // Lets go of the KV that came of it, and makes room for another sequence.
  void end(std::uint64_t sequence) {
    stop(sequence);
    if (must(cache_.streamer().finish(sequence, cache_.stream()), "finish"))
      must(cache_.streamer().admit("prefill", 1), "admit");
  }

  void stop(std::uint64_t sequence) {
    std::erase_if(waiting_, [&](const auto& each) { return each.sequence == sequence; });
    const auto found = running_.find(sequence);
    if (found == running_.end()) return;
    engine_.drop(found->second.slot);
    free_slots_.push_back(found->second.slot);
    running_.erase(found);
  }

  Engine engine_;
  StreamedCache cache_;
  example::LineReader orders_;
  std::vector<unsigned> free_slots_{};
  std::deque<kv_stream::Arrived> waiting_{};  // for a slot
  std::map<std::uint64_t, Running> running_{};
  std::set<std::uint64_t> answered_{};
};

}  // namespace

void run_decode(const Options& options, const Model& model) {
  Decode(options, model).run();
}

}  // namespace aqua::llama_example
