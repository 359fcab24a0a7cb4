// SPDX-License-Identifier: Apache-2.0
// Parking: where a preempted conversation waits. Three ways, so that they can be compared:
// AquaTensors (tensor_parking.hpp), process memory, and nowhere, which is recomputation.
//
// Threads: the engine's. Errors: every call throws Failure, but for want of room.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>

#include "aqua/result.hpp"
#include "aqua/types.hpp"
#include "engine.hpp"

namespace aqua::llama_example {

// What a way of parking needs to know of a conversation.
struct Seat {
  unsigned conversation = 0;
  unsigned slot = 0;
  std::span<const Token> history{};  // all that the slot's cache holds, or is to hold again
  bool to_host = false;              // parks past lent memory, whether there is room or not
};

class Parking {
 public:
  virtual ~Parking() = default;
  // Where it is parked; the slot may then be dropped. resource_exhausted: nowhere, as there is no
  // room.
  [[nodiscard]] virtual Result<Tier> park(const Seat& seat) = 0;
  // Into an empty slot; nothing of the conversation is kept. Answers where it was.
  virtual Tier resume(const Seat& seat) = 0;
};

// llama.cpp's own way: llama_state_seq_get_data() to a buffer of its own, and back.
class MemoryParking : public Parking {
 public:
  explicit MemoryParking(SlotStates& engine) : engine_(engine) {}
  [[nodiscard]] Result<Tier> park(const Seat& seat) override;
  Tier resume(const Seat& seat) override;

 private:
  struct Buffer {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes = 0;
  };
  SlotStates& engine_;
  std::unordered_map<unsigned, Buffer> parked_;
};

class Recomputation : public Parking {
 public:
  explicit Recomputation(Engine& engine) : engine_(engine) {}
  [[nodiscard]] Result<Tier> park(const Seat&) override { return Tier::host; }
  Tier resume(const Seat& seat) override {
    (void)engine_.decode(seat.slot, 0, seat.history);
    return Tier::host;
  }

 private:
  Engine& engine_;
};

}  // namespace aqua::llama_example
