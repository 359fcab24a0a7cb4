// SPDX-License-Identifier: Apache-2.0
#include "tensor_parking.hpp"

#include <exception>
#include <string>

#include "hash.hpp"
#include "must.hpp"

namespace aqua::llama_example {

using example::must;

TensorParking::TensorParking(Runtime& runtime, SlotStates& engine, Allocate allocate)
    : runtime_(runtime),
      engine_(engine),
      allocate_(std::move(allocate)),
      stream_(must(emulated::create_stream(runtime), "stream")) {}

TensorParking::~TensorParking() {
  parked_.clear();
  (void)emulated::destroy_stream(runtime_, stream_);
}

template <typename Work>
void TensorParking::on_stream(const Pin& pin, Work&& work) {
  std::exception_ptr thrown;
  must(emulated::launch(runtime_, stream_,
                        [&] {
                          try {
                            work(std::span(emulated::kernel_view(pin.data()), pin.bytes()));
                          } catch (...) {
                            thrown = std::current_exception();
                          }
                        }),
       "launch");
  must(emulated::synchronize(runtime_, stream_), "synchronize");
  if (thrown) std::rethrow_exception(thrown);
}

Result<Tier> TensorParking::park(const Seat& seat) {
  const std::size_t bytes = engine_.state_bytes(seat.slot);
  const TensorOptions wanted{.bytes = bytes,
                             .name = "chat " + std::to_string(seat.conversation),
                             .host_only = seat.to_host};
  auto allocated = allocate_ ? allocate_(wanted) : runtime_.allocate(wanted);
  if (!allocated.ok() && allocated.error().code == Code::resource_exhausted)
    return std::move(allocated).error();
  Parked parked;
  parked.tensor = must(std::move(allocated), "allocate");
  Pin pin = must(parked.tensor.pin(Access::write, stream_), "pin");
  parked.tier = pin.tier();
  on_stream(pin, [&](std::span<std::byte> state) {
    engine_.save(seat.slot, state);
    if (check_) parked.hash = hash_bytes(state);
    if (flip_) state[state.size() / 2] ^= std::byte{1};
  });
  flip_ = false;
  pin.release();
  ++(parked.tier == Tier::peer ? stats_.parked_in_peer : stats_.parked_in_host);
  stats_.written_bytes += bytes;
  const Tier tier = parked.tier;
  parked_[seat.conversation] = std::move(parked);
  return tier;
}

Tier TensorParking::resume(const Seat& seat) {
  auto found = parked_.extract(seat.conversation);
  Parked& parked = found.mapped();
  Pin pin = must(parked.tensor.pin(Access::read, stream_), "pin");
  on_stream(pin, [&](std::span<const std::byte> state) {
    engine_.restore(seat.slot, state);
    if (!check_) return;
    stats_.checked_bytes += state.size();
    if (hash_bytes(state) != parked.hash) ++stats_.mismatched_states;
  });
  ++(pin.tier() == Tier::peer ? stats_.resumed_from_peer : stats_.resumed_from_host);
  if (pin.tier() != parked.tier) ++stats_.moved_meanwhile;
  stats_.read_bytes += pin.bytes();
  return pin.tier();
}

}  // namespace aqua::llama_example
