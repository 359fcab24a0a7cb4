// SPDX-License-Identifier: Apache-2.0
// The demonstration's sizes: a server of four GPUs, scaled down so that it fits a laptop.
// In all about 4 GiB: two producers of 1 GiB, two consumers of 192 MiB and a host tier each.
#pragma once

#include <chrono>

#include "aqua/types.hpp"

namespace aqua::example {

using namespace aqua::literals;

inline constexpr unsigned kProducers = 2;  // emu:0, emu:1
inline constexpr unsigned kConsumers = 2;  // emu:2, emu:3

// A producer: half of its memory is spare at its steady load.
inline constexpr std::size_t kProducerBytes = 1_GiB;
inline constexpr std::size_t kSteadyFreeBytes = 512_MiB;
inline constexpr std::size_t kChunkBytes = 32_MiB;  // in which its engine takes and frees memory
inline constexpr std::size_t kSlabBytes = 32_MiB;   // so that a loan has 16 slabs to time

// A consumer: its cache holds about nine sequences, its load has some forty.
inline constexpr std::size_t kCacheBytes = 192_MiB;
inline constexpr std::size_t kConsumerBytes = kCacheBytes + 128_MiB;  // and staging buffers
inline constexpr std::size_t kMaxPeerBytes = 512_MiB;
inline constexpr std::size_t kHostBytes = 768_MiB;
// What the scheduler may fill of these; the rest is for fragmentation.
inline constexpr std::size_t kTensorBudgetBytes = 640_MiB;

// With layers in frames. Of these up to 384 MiB are away or on their way, and have their exits in
// host memory beside what the scheduler may fill.
inline constexpr std::size_t kLayeredBytes = 128_MiB;
inline constexpr std::size_t kLayeredHostBytes = 1_GiB;
inline constexpr std::size_t kLayeredBudgetBytes = 448_MiB;

inline constexpr std::uint32_t kMaxPromptTokens = 3072;  // longer prompts are cut
inline constexpr std::uint32_t kMaxOutputTokens = 1000;
// The scheduler's: iterations in a slice, tokens in an iteration (aqua/schedule/options.hpp).
inline constexpr std::uint32_t kSliceIterations = 48;
inline constexpr std::uint32_t kBatchTokens = 512;

// Lent memory is this many times as fast as host memory: about NVLink over PCIe 4.0, each way.
inline constexpr std::uint64_t kPeerOverHost = 10;

inline constexpr std::chrono::milliseconds kReportPeriod{100};
// Longer than it takes to carry a whole loan over the slow link to host memory.
inline constexpr std::chrono::milliseconds kSurge{5000};
inline constexpr std::chrono::seconds kReclaimDeadline{20};

}  // namespace aqua::example
