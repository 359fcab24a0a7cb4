// SPDX-License-Identifier: Apache-2.0
// TensorParking: a preempted conversation waits in an AquaTensor, where there is lent memory in
// that, else on the host tier. llama.cpp writes its state straight to the tensor's pinned
// address and reads it from there: no buffer in between.
//
// On an emulated GPU only work on a stream may follow a device address, so the calls of
// llama.cpp run there, and the engine waits for them; it has nothing else to do meanwhile.
//
// Threads: the engine's. Owns: its stream and the tensors. The runtime and the engine outlive it.
#pragma once

#include <cstdint>
#include <functional>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "parking.hpp"

namespace aqua::llama_example {

class TensorParking : public Parking {
 public:
  using Allocate = std::function<Result<AquaTensor>(const TensorOptions&)>;
  // `allocate` stands for Runtime::allocate().
  TensorParking(Runtime& runtime, SlotStates& engine, Allocate allocate = {});
  ~TensorParking() override;
  TensorParking(const TensorParking&) = delete;
  TensorParking& operator=(const TensorParking&) = delete;

  [[nodiscard]] Result<Tier> park(const Seat& seat) override;
  Tier resume(const Seat& seat) override;

  // From now on every parked byte is hashed, and hashed again once it has been read back.
  void check_bytes() { check_ = true; }
  // Damages a byte of the next conversation that parks.
  void flip_a_byte() { flip_ = true; }

  struct Stats {
    std::size_t parked_in_peer = 0, parked_in_host = 0;        // at the write
    std::size_t resumed_from_peer = 0, resumed_from_host = 0;  // at the read
    std::size_t moved_meanwhile = 0;                           // of those resumed
    std::uint64_t written_bytes = 0, read_bytes = 0;
    std::uint64_t checked_bytes = 0, mismatched_states = 0;
  };
  [[nodiscard]] const Stats& stats() const { return stats_; }

 private:
  struct Parked {
    AquaTensor tensor;
    Tier tier = Tier::host;  // that it was written to
    std::uint64_t hash = 0;
  };
  // Runs `work` on the stream with the pinned bytes, and waits for it. What it throws is thrown.
  template <typename Work>
  void on_stream(const Pin& pin, Work&& work);

  Runtime& runtime_;
  SlotStates& engine_;
  const Allocate allocate_;
  Stream stream_;
  std::unordered_map<unsigned, Parked> parked_;
  Stats stats_;
  bool check_ = false;
  bool flip_ = false;
};

}  // namespace aqua::llama_example
