// SPDX-License-Identifier: Apache-2.0
#include "swap_space.hpp"

#include "must.hpp"

namespace aqua::example {

SwapSpace::SwapSpace(Runtime& runtime, KvMemory& cache, std::uint32_t tenant)
    : runtime_(runtime),
      cache_(cache),
      tenant_(tenant),
      stream_(must(emulated::create_stream(runtime), "swap stream")) {}

SwapSpace::~SwapSpace() {
  (void)emulated::destroy_stream(runtime_, stream_);  // waits for its work
}

bool SwapSpace::send_away(Sequence& sequence, bool to_host) {
  const std::size_t bytes = sequence.blocks.size() * CacheShape::kBlockBytes;
  auto tensor = runtime_.allocate({.bytes = bytes,
                                   .name = "seq " + std::to_string(sequence.id),
                                   .host_only = to_host || !use_lent_});
  if (!tensor.ok() && tensor.error().code == Code::resource_exhausted) {
    ++stats_.refused_allocations;
    return false;
  }
  sequence.tensor = must(std::move(tensor), "allocate");
  stats_.offloaded.add(sequence.tensor.tier(), bytes);
  ++stats_.preemptions;
  sequence.ticket = cache_.offload(sequence.blocks, sequence.tensor, stream_);
  sequence.phase = Sequence::Phase::leaving;
  return true;
}

void SwapSpace::bring_back(Sequence& sequence) {
  const auto count = static_cast<std::uint32_t>(sequence.tensor.bytes() / CacheShape::kBlockBytes);
  sequence.blocks = cache_.take(sequence.id, count);
  {
    // While a pin is held the tensor stays, so that its bytes are booked to the right tier.
    const Pin pin = must(sequence.tensor.pin(Access::read, stream_), "pin");
    sequence.tier = pin.tier();
    sequence.fetch_begin = mark();
    sequence.ticket = cache_.fetch(sequence.tensor, sequence.blocks, stream_);
    sequence.fetch_end = mark();
  }
  stats_.fetched.add(sequence.tier, sequence.tensor.bytes());
  CheckOrder order{{tenant_, sequence.id, sequence.computed, sequence.blocks}};
  sequence.check = order.check;
  cache_.check_fetched(stream_, std::move(order));
  sequence.phase = Sequence::Phase::returning;
}

StreamMark SwapSpace::mark() {
  return must(StreamMark::create(runtime_, stream_), "mark");
}

double SwapSpace::fetch_seconds(const Sequence& sequence) {
  const auto took = must(sequence.fetch_end->since(*sequence.fetch_begin), "fetch's time");
  return std::chrono::duration<double>(took).count();
}

bool SwapSpace::advance(Sequence& sequence) {
  if (!must(sequence.ticket.done(), "ticket of seq " + std::to_string(sequence.id))) return false;
  if (sequence.phase == Sequence::Phase::leaving) {
    cache_.give_back(sequence.id, sequence.blocks);
    sequence.tier = sequence.tensor.tier();
    sequence.phase = Sequence::Phase::away;
    return true;
  }
  if (!sequence.check->done.load(std::memory_order_acquire)) return false;
  stats_.verified.add(sequence.tier, sequence.check->bytes);
  stats_.mismatched.add(sequence.tier, sequence.check->mismatched_bytes);
  sequence.check.reset();
  sequence.tensor = AquaTensor();
  sequence.phase = Sequence::Phase::resident;
  return true;
}

}  // namespace aqua::example
