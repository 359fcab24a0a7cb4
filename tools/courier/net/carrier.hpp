// SPDX-License-Identifier: Apache-2.0
// Carrier moves the bytes of parcels and copies between two couriers. Messages go over the TLS
// stream, which is also the carrier that every courier has; the other one is UCX.
//
// Threads: one at a time.
// Errors:  unavailable: the other side is away, or nothing has moved for the patience;
//          invalid_argument: what comes is not what was announced; cancelled: it was stopped.
//          After any of them the carrier is of no use, and touches no memory any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "aqua/result.hpp"

namespace aqua::courier {

// What the options of a courier allow. `automatic`: UCX where both sides have an RDMA device.
enum class CarrierChoice : std::uint8_t { tls, automatic, ucx };

class Carrier {
 public:
  Carrier() = default;
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  // Sends all bytes. Their memory is not read any more when this returns.
  [[nodiscard]] virtual Result<void> send(std::span<const std::byte> bytes) = 0;
  // Fills `into` with what one send() of the other side has sent.
  [[nodiscard]] virtual Result<void> read(std::span<std::byte> into) = 0;
  // Does what can be done at once. Returns a descriptor that is readable when there is more to do,
  // or -1 when there will not be.
  [[nodiscard]] virtual Result<int> ready_to_wait() = 0;
};

}  // namespace aqua::courier
