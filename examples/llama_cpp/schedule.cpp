// SPDX-License-Identifier: Apache-2.0
#include "schedule.hpp"

#include <chrono>
#include <deque>
#include <optional>

#include "hash.hpp"
#include "must.hpp"

namespace aqua::llama_example {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Conversation {
  const ChatRequest* request = nullptr;
  Answer* answer = nullptr;
  std::vector<Token> history{};  // what the cache holds while it is resident
  unsigned in_slice = 0;
  bool begun = false;
  [[nodiscard]] bool done() const { return answer->tokens.size() == request->output_tokens; }
};

class Schedule {
 public:
  Schedule(Engine& engine, const std::vector<ChatRequest>& requests, unsigned slice,
           Parking* parking)
      : engine_(engine), slice_(slice), parking_(parking), slots_(engine.slots()) {
    served_.answers.resize(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      waiting_.push_back({&requests[i], &served_.answers[i], requests[i].prompt});
      progress_.all_tokens += requests[i].output_tokens;
    }
  }

  Served run(const std::function<void(const Progress&)>& each_turn) {
    while (progress_.tokens < progress_.all_tokens) {
      for (unsigned slot = 0; slot < slots_.size(); ++slot) turn(slot);
      progress_.waiting = waiting_.size();
      each_turn(progress_);
    }
    served_.seconds = seconds_since(start_);
    served_.tokens = progress_.tokens;
    served_.preemptions = progress_.preemptions;
    return std::move(served_);
  }

 private:
  void turn(unsigned slot) {
    auto& resident = slots_[slot];
    if (resident && parking_ != nullptr && resident->in_slice >= slice_ && !waiting_.empty())
      preempt(slot);
    if (!resident) {
      if (!seat(slot)) return;
    } else {
      step(slot);
    }
    if (resident->done()) {
      engine_.drop(slot);
      resident.reset();
    }
  }

  void preempt(unsigned slot) {
    const auto start = Clock::now();
    (void)example::must(parking_->park({slots_[slot]->request->id, slot, slots_[slot]->history}),
                        "park");
    engine_.drop(slot);
    served_.park_seconds += seconds_since(start);
    ++progress_.preemptions;
    slots_[slot]->in_slice = 0;
    waiting_.push_back(std::move(*slots_[slot]));
    slots_[slot].reset();
  }

  // Seats the conversation that has waited longest, and has it produce a token.
  bool seat(unsigned slot) {
    if (waiting_.empty()) return false;
    slots_[slot] = std::move(waiting_.front());
    waiting_.pop_front();
    Conversation& c = *slots_[slot];
    if (c.begun) {
      const auto start = Clock::now();
      parking_->resume({c.request->id, slot, c.history});
      served_.resume_seconds.push_back(seconds_since(start));
      step(slot);
      return true;
    }
    c.begun = true;
    take(c, engine_.decode(slot, 0, c.history));
    c.answer->first_token_seconds = seconds_since(start_);
    return true;
  }

  // The last token becomes part of the cache, and the next one is predicted.
  void step(unsigned slot) {
    Conversation& c = *slots_[slot];
    const Token pending = c.answer->tokens.back();
    const auto past = static_cast<unsigned>(c.history.size());
    const Prediction next = engine_.decode(slot, past, {&pending, 1});
    c.history.push_back(pending);
    take(c, next);
  }

  void take(Conversation& c, const Prediction& next) {
    c.answer->tokens.push_back(next.token);
    c.answer->logits_hash = add_hash(c.answer->logits_hash, next.logits_hash);
    ++c.in_slice;
    ++progress_.tokens;
  }

  Engine& engine_;
  const unsigned slice_;
  Parking* const parking_;
  std::vector<std::optional<Conversation>> slots_;
  std::deque<Conversation> waiting_;
  Served served_;
  Progress progress_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

Served serve(Engine& engine, const std::vector<ChatRequest>& requests, unsigned slice,
             Parking* parking, const std::function<void(const Progress&)>& each_turn) {
  return Schedule(engine, requests, slice, parking).run(each_turn);
}

}  // namespace aqua::llama_example
