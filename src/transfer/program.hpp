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
#include "layout/checked_blocks.hpp"
#include "transfer/batch_pool.hpp"
#include "transfer/event_pool.hpp"
#include "transfer/link.hpp"
#include "transfer/staging.hpp"

namespace aqua::transfer {

enum class Lane : std::uint8_t { caller, side };

struct Step {
  enum class Kind : std::uint8_t { copy, copy_blocks, record, wait };
  Kind kind = Kind::copy;
  Lane lane = Lane::caller;
  device::Event* event = nullptr;                        // record, wait
  device::CopyBatch batch{};                             // copy
  device::PieceRange pieces{};                           // copy_blocks: of Program::blocks
  device::CopyMethod method = device::CopyMethod::each;  // both
  device::CopyPath path = device::CopyPath::peer;        // both
};

// Layers that are reported together. They have arrived when all `arrived` are reached.
struct LayerGroup {
  unsigned end_layer = 0;  // one past the last; the first is the previous group's end
  std::array<device::Event*, 2> arrived{};  // the second is null where nothing is staged
};

struct Program {
  std::vector<EventPool::Pooled> events;  // owns what the steps and groups name
  std::vector<Step> steps;
  std::vector<LayerGroup> groups;
  device::BlockBatch blocks;  // null: no step is a copy by blocks
  // The table of `blocks`. What it has of them on the device is sent when it is made, ahead of
  // every copy.
  std::unique_ptr<device::BlockTable> table;
  device::CancelFlag cancel;
};

struct ProgramInput {
  const Layout& layout;
  const layout::CheckedBlocks& blocks;  // of this layout
  // The pieces by their blocks; null: the whole blocks, by a list of their pieces. Staged, no piece
  // is larger than a buffer, and one side is the packed form.
  device::BlockBatch named;
  unsigned layers = 1;          // that are moved
  std::size_t bytes = 0;        // of all, as many in each layer
  std::byte* packed = nullptr;  // where the packed form begins
  Direction direction = Direction::offload;
  unsigned groups = 1;  // at least 1, at most the layers
  std::size_t max_copy_bytes = 0;
  device::CopyMethod method = device::CopyMethod::each;  // for the copies of the pieces
  device::CopyPath path = device::CopyPath::peer;        // between the cache and the packed form
  BatchPool& lists;
  EventPool& events;
};

// No blocks give an empty program.
[[nodiscard]] Result<Program> build_direct(const ProgramInput& input);
// The pair stays lent to the transfer until the program's work is over.
[[nodiscard]] Result<Program> build_staged(const ProgramInput& input, const StagingPair& pair);

// Queues the steps in order and stops at the first one refused. `max_sms` is for kernels.
[[nodiscard]] Result<void> run(device::Device& device, const Program& program, Stream caller,
                               Stream side, unsigned max_sms);

}  // namespace aqua::transfer
