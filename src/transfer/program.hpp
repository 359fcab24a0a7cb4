// SPDX-License-Identifier: Apache-2.0
// A transfer as the list of device calls that will post it. Everything is allocated when
// the program is built, so that running it only queues.
//
// Two lanes run in order each: the caller's stream, and for staged transfers the stream of
// the staging pair. Steps tie them together with events, never with the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "aqua/result.hpp"
#include "device/device.hpp"
#include "transfer/batch_pool.hpp"
#include "transfer/link.hpp"
#include "transfer/plan.hpp"
#include "transfer/staging.hpp"

namespace aqua::transfer {

enum class Lane : std::uint8_t { caller, side };

struct Step {
  enum class Kind : std::uint8_t { copy, record, wait };
  Kind kind = Kind::copy;
  Lane lane = Lane::caller;
  device::Event* event = nullptr;                        // record, wait
  device::CopyBatch batch{};                             // copy
  device::CopyMethod method = device::CopyMethod::each;  // copy
  bool within_device = false;                            // copy: no link is crossed
};

// Layers that are reported together. They have arrived when all `arrived` are reached.
struct LayerGroup {
  unsigned end_layer = 0;  // one past the last; the first is the previous group's end
  std::array<device::Event*, 2> arrived{};  // the second is null where nothing is staged
};

struct Program {
  std::vector<std::unique_ptr<device::Event>> events;  // owns what the steps and groups name
  std::vector<Step> steps;
  std::vector<LayerGroup> groups;
  device::CancelFlag cancel;
};

struct ProgramInput {
  const Layout& layout;
  const BlockRuns& runs;        // of this layout
  std::byte* packed = nullptr;  // where the packed form begins
  Direction direction = Direction::offload;
  unsigned groups = 1;  // at least 1, at most the layers
  std::size_t max_copy_bytes = 0;
  device::CopyMethod method = device::CopyMethod::each;  // for the copies of the pieces
  bool within_device = false;  // the packed form is in this device's memory as well
  BatchPool& lists;
};

// No blocks give an empty program.
[[nodiscard]] Result<Program> build_direct(device::Device& device, const ProgramInput& input);
// The pair stays lent to the transfer until the program's work is over.
[[nodiscard]] Result<Program> build_staged(device::Device& device, const ProgramInput& input,
                                           const StagingPair& pair);

// Queues the steps in order and stops at the first one refused. `max_sms` is for kernels.
[[nodiscard]] Result<void> run(device::Device& device, const Program& program, Stream caller,
                               Stream side, unsigned max_sms);

}  // namespace aqua::transfer
