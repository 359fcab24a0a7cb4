// SPDX-License-Identifier: Apache-2.0
// fcfs, in words: residents first, in order of arrival; when one wants a block and none is free or
// coming, the latest to arrive goes. While memory is short nobody is let in. Then those outside,
// in line: all blocks of the prompt must be free, less a hundredth of the device.
#include "tests/systems/schedule/naive/scheduler.hpp"

namespace aqua::schedule::test {

bool NaiveScheduler::preempt_latest() {
  const auto residents = select([](const auto& s) { return s.resident(); });
  if (residents.empty()) return false;
  order_out(*residents.back(), how_out(*residents.back()));
  return true;
}

void NaiveScheduler::plan_queue() {
  bool short_of_memory = false;
  while (free_blocks() + coming_blocks() < 0 && preempt_latest()) short_of_memory = true;
  std::uint32_t tokens = options_.budget_tokens;
  std::size_t places = most_sequences();
  std::int64_t claimed = 0, promised = 0;
  for (NaiveSequence* s : select([](const auto& x) { return x.resident(); })) {
    if (!s->resident()) continue;  // preempted meanwhile
    if (too_large(*s)) {
      set_aside(*s);
      continue;
    }
    const std::uint32_t chunk = std::min(s->pending(), tokens);
    const std::int64_t need = std::int64_t{blocks_for(s->computed + chunk)} - s->device_blocks;
    while (s->resident() && claimed + need > free_blocks() + coming_blocks()) {
      short_of_memory = preempt_latest();
    }
    if (!s->resident()) break;  // it was the latest itself
    claimed += need;
    if (!s->decodes()) {
      promised += std::int64_t{blocks_for(s->known())} - s->device_blocks - need;
    }
    if (chunk == 0 || places == 0) continue;
    if (need > 0 && claimed > free_blocks()) {  // its block is on the way out
      short_of_memory = true;
      continue;
    }
    s->decodes() ? add_decode(*s) : add_prefill(*s, chunk);
    tokens -= chunk;
    places -= 1;
  }
  if (!short_of_memory && coming_blocks() == 0) {
    admit(tokens, places, free_blocks() - claimed - promised);
  }
}

void NaiveScheduler::admit(std::uint32_t tokens, std::size_t places, std::int64_t left) {
  begin_admission();
  std::size_t inside = select([](const auto& s) {
                         return s.resident() || s.state == SequenceState::paging_in;
                       }).size();
  std::vector<SequenceId> passed;
  while (NaiveSequence* s = first_in_line(passed)) {
    if (too_large(*s)) {
      set_aside(*s);
      continue;
    }
    const std::int64_t need = blocks_for(s->known());
    const std::int64_t kept_back = inside > 0 ? options_.device_blocks / 100 : 0;
    if (need + kept_back > left || inside >= most_sequences()) return;
    if (s->state == SequenceState::swapped) {
      order_in(*s);
    } else {
      const std::uint32_t chunk = std::min(s->pending(), tokens);
      if (chunk == 0 || places == 0) return;
      add_prefill(*s, chunk);
      tokens -= chunk;
      places -= 1;
    }
    passed.push_back(s->request.id);
    let_in(*s);
    left -= need;
    inside += 1;
  }
}

NaiveSequence* NaiveScheduler::first_in_line(const std::vector<SequenceId>& passed) {
  const auto line = select([&](const auto& s) {
    return s.outside() && std::find(passed.begin(), passed.end(), s.request.id) == passed.end();
  });
  return line.empty() ? nullptr : line.front();
}

}  // namespace aqua::schedule::test
