// SPDX-License-Identifier: Apache-2.0
// Parking: where a preempted conversation waits. Three ways, so that they can be compared:
// AquaTensors (tensor_parking.hpp), process memory, and nowhere, which is recomputation.
//
// Threads: the engine's. Errors: every call throws Failure.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>

#include "engine.hpp"

namespace aqua::llama_example {

// What a way of parking needs to know of a conversation.
struct Seat {
  unsigned conversation = 0;
  unsigned slot = 0;
  std::span<const Token> history{};  // all that the slot's cache holds, or is to hold again
};

struct ParkingStats {
  std::size_t parked = 0;
  std::size_t parked_bytes = 0;
  double park_seconds = 0;
  double resume_seconds = 0;
};

class Parking {
 public:
  virtual ~Parking() = default;
  // Afterwards the slot may be dropped.
  virtual void park(const Seat& seat) = 0;
  // Into an empty slot; nothing of the conversation is kept.
  virtual void resume(const Seat& seat) = 0;
};

// llama.cpp's own way: llama_state_seq_get_data() to a buffer of its own, and back.
class MemoryParking : public Parking {
 public:
  explicit MemoryParking(Engine& engine) : engine_(engine) {}
  void park(const Seat& seat) override;
  void resume(const Seat& seat) override;

 private:
  struct Buffer {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes = 0;
  };
  Engine& engine_;
  std::unordered_map<unsigned, Buffer> parked_;
};

class Recomputation : public Parking {
 public:
  explicit Recomputation(Engine& engine) : engine_(engine) {}
  void park(const Seat&) override {}
  void resume(const Seat& seat) override { (void)engine_.decode(seat.slot, 0, seat.history); }

 private:
  Engine& engine_;
};

}  // namespace aqua::llama_example
