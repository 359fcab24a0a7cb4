// SPDX-License-Identifier: Apache-2.0
// AquaTensor: an elastic handle to N bytes. The bytes live in a neighbour's lent HBM while
// it can spare it, and in host DRAM otherwise; they move between the two on their own, and
// their address with them. A Pin holds the address still.
//
//   auto tensor = runtime.allocate({.bytes = 64_MiB, .name = "seq 42"});
//   auto pin = tensor->pin(aqua::Access::write, stream);
//   launch_fill(pin->data(), stream);  // a kernel of yours
//   pin->release();                    // the work posted to `stream` so far was the last use
//
// Order: a tensor is an ordered resource. Pinning makes `stream` wait for earlier writes
// of other streams (and a write pin also for earlier reads), so no event of yours is needed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "aqua/export.h"
#include "aqua/result.hpp"
#include "aqua/types.hpp"

namespace aqua {

enum class Access : std::uint8_t {
  read,   // never waits for a migration
  write,  // may wait for one that is about to end; marks what it covers as changed
};

struct TensorOptions {
  std::size_t bytes = 0;  // at least 1
  std::string name{};     // for people; need not be unique
  // A tensor has a range of host memory reserved as its exit, so that a reclaim always has
  // somewhere to move it. A discardable one has none: when its slab is reclaimed and host
  // memory is full its bytes are dropped, pins answer data_loss and the owner recomputes. Where no
  // lent memory has room for it, it lies in host memory and needs room there.
  bool discardable = false;
  // Keep to the host tier, for bytes that are not worth lent memory.
  bool host_only = false;
  // Never in this device's own memory (RuntimeOptions::local_bytes), for bytes that are to make
  // room there: lent memory, else host memory.
  bool off_device = false;
};

// Part of a tensor; the default is all of it.
struct ByteRange {
  std::size_t offset = 0;
  std::size_t bytes = SIZE_MAX;  // SIZE_MAX: to the tensor's end
};

namespace detail {  // not for engines
struct Internals;   // how the library reaches what its handles hold
class TensorEntry;
class TensorPlace;
}  // namespace detail

// A claim on a tensor's present address.
//
// Threads: one at a time; may be released on another thread than it was taken on.
// Owns:    the claim. Keep it short: a reclaim waits for it, up to its deadline.
class AQUA_API Pin {
 public:
  Pin() = default;
  Pin(Pin&& other) noexcept;
  Pin& operator=(Pin&& other) noexcept;
  ~Pin();  // releases on the stream given at pin()

  // Device address of the range pinned; a host thread must not follow it.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] Tier tier() const noexcept;
  [[nodiscard]] bool held() const noexcept { return entry_ != nullptr; }

  // The work posted so far to the pin's stream was the last use. Never waits for it. Of a stream
  // that is being captured into a graph, only the work before the capture can be waited for, and
  // not before its end: until then nobody else may pin the tensor, and the stream must live until
  // the tensor has been pinned anew or freed after that.
  void release() noexcept;
  // The same, when the last use was posted to another stream. (On cudaStreamPerThread it does
  // wait.)
  void release(Stream last_use) noexcept;

 private:
  friend class detail::TensorEntry;
  std::shared_ptr<detail::TensorEntry> entry_;
  std::shared_ptr<detail::TensorPlace> place_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t offset_ = 0;
  Access access_ = Access::read;
  Stream stream_;
  std::uint64_t round_ = 0;  // of the tensor's move, whose new place is written as well; 0: none
};

// Move-only; frees the tensor when destroyed, once the work in flight on it is over
// (without waiting for it). Must not outlive the runtime it came from.
//
// Threads: const methods and pin() may be called concurrently.
class AQUA_API AquaTensor {
 public:
  AquaTensor() = default;
  AquaTensor(AquaTensor&& other) noexcept = default;
  AquaTensor& operator=(AquaTensor&& other) noexcept;
  ~AquaTensor();

  [[nodiscard]] bool valid() const noexcept { return entry_ != nullptr; }
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept;
  // Unique in its runtime; for logs and callbacks.
  [[nodiscard]] std::uint64_t id() const noexcept;

  // Where the bytes are now. May be out of date when it returns, unless pinned.
  [[nodiscard]] Tier tier() const noexcept;
  // True once the bytes are gone; pins answer data_loss from then on.
  [[nodiscard]] bool lost() const noexcept;

  // Holds the range where it is until the Pin is released, for work on `stream`.
  //   invalid_argument  the range is empty or not inside the tensor, or `stream` is another one on
  //                     every thread (cudaStreamPerThread)
  //   failed_precondition
  //                     `stream` is being captured into a graph, whose launches could not know
  //                     where the tensor is then (nor may a pin be released on such a stream);
  //                     or an earlier pin was, and that capture has not ended
  //   data_loss         the bytes are gone: free the tensor and recompute
  //   unavailable       a write pin waited 5 s for readers of the old place to let go.
  //                     (A thread that holds a read pin of a tensor must not ask for a write
  //                     pin of it: it would wait for itself.)
  [[nodiscard]] Result<Pin> pin(Access access, Stream stream, ByteRange range = {});

 private:
  friend struct detail::Internals;
  explicit AquaTensor(std::shared_ptr<detail::TensorEntry> entry) noexcept;
  std::shared_ptr<detail::TensorEntry> entry_;
};

}  // namespace aqua
