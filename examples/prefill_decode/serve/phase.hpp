// SPDX-License-Identifier: Apache-2.0
// Phase is the loop of an engine on a KV pool: prefill, decode, or both in one. The same scheduler
// serves each:
//
//   prefill: a request may generate one token, then its parcel goes to decode
//   decode:  a request's prompt is in the cache but for one token, and its page-in is that a parcel
//            was accepted
//   both:    as engines usually are
//
// A request is admitted once there are blocks for its prompt and its answer, which the parcel takes
// with it. So whatever has begun can end, and where decode is full, parcels wait, blocks run out,
// and prefill admits no more.
//
// Threads: one. Errors: Failure.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aqua/handoff/kv_pool.hpp"
#include "aqua/schedule/scheduler.hpp"
#include "json_lines.hpp"
#include "serve/kv_engine.hpp"
#include "serve/messages.hpp"

namespace aqua::prefill_decode {

enum class Role : std::uint8_t { prefill, decode, both };

struct PhaseOptions {
  Role role = Role::both;
  std::uint32_t chunk_tokens = 256;  // in one iteration
  std::uint32_t sequences = 64;      // at once
};

class Phase {
 public:
  // All outlive this. Requests come by `input`, but for those that decode accepts; what is answered
  // goes to standard output.
  Phase(const PhaseOptions& options, KvEngine& engine, KvPool& pool, Stream stream,
        example::LineReader& input);
  // Until the input has ended and all is answered.
  void run();

 private:
  struct Sequence {
    std::uint64_t id = 0;         // of the request
    std::vector<Token> tokens{};  // known, from `first` on
    std::uint32_t first = 0;      // position of the first of them
    std::uint32_t answer_tokens = 0;
    std::vector<std::uint32_t> blocks{};
    std::uint64_t parcel = 0;               // that was accepted; 0: none
    std::vector<std::uint32_t> own_tail{};  // of `blocks`, those that are not the parcel's
    Answer answer{};
  };

  void take_in(std::chrono::milliseconds patience);
  void admit();
  void accept();
  // A parcel that was accepted, with own blocks in place of those in doubt.
  void begin(Parcel parcel, std::vector<std::uint32_t> own_tail);
  void wait();
  void compute(const schedule::Batch& batch);
  void predicted(schedule::SequenceId id, const Prediction& next);
  void hand_over(schedule::SequenceId id, Sequence& sequence);
  void end(schedule::SequenceId id);

  PhaseOptions options_;
  KvEngine& engine_;
  KvPool& pool_;
  Stream stream_;
  example::LineReader& input_;
  std::unique_ptr<schedule::Scheduler> scheduler_;
  std::deque<Request> queue_;    // not admitted yet
  std::deque<Parcel> accepted_;  // that wait for blocks, since their tails are in doubt
  std::map<schedule::SequenceId, Sequence> sequences_;
  std::uint64_t last_ = 0;  // sequence that began
};

}  // namespace aqua::prefill_decode
