// SPDX-License-Identifier: Apache-2.0
// UcxCarrier moves bytes by UCX's active messages, each into the buffer that read() was called
// with. The courier takes none that does not begin with the key which the other side was told over
// TLS. That guards against mistakes and strays, and not against attackers: UCX's own code acts on
// what comes to its ports before, and over TCP writes where a packet says. So the network has to be
// trusted (docs/operate/courier.md).
//
//   connects: open() ----- here() over TLS -----> listens: open()
//             reach() <---- here() over TLS -----          answer()
//             then either says over TLS which carrier it is
//
// Threads: one at a time.
// Errors:  as Carrier. All of UCX is given back by the time that one is returned.
#pragma once

#include <chrono>
#include <memory>

#include "aqua/result.hpp"
#include "tools/courier/net/carrier.hpp"
#include "tools/courier/net/tls_stream.hpp"
#include "tools/courier/wire/ucx_point.hpp"

namespace aqua::courier {

// Loads UCX where this choice may want it. UCX reads its settings from the environment when it is
// loaded: called before a program has other threads. What is wrong open() says.
void prepare_ucx(CarrierChoice choice);

class UcxCarrier : public Carrier {
 public:
  // `beside` outlives it: its waits end as those of the stream do, and when the stream ends.
  // unimplemented: this program is built without UCX; unavailable: there is no UCX here, or no
  // device for it. For CarrierChoice::automatic it has to be an RDMA device.
  [[nodiscard]] static Result<std::unique_ptr<UcxCarrier>> open(const TlsStream& beside,
                                                                CarrierChoice choice);
  // Where UCX reaches this side, and its key: to be told to the other one.
  [[nodiscard]] virtual const UcxPoint& here() const noexcept = 0;
  // Returns once the other side has answered over UCX.
  [[nodiscard]] virtual Result<void> reach(const UcxPoint& there,
                                           std::chrono::milliseconds patience) = 0;
  // Answers the other side's reach(). Returns when there is something to be read from the stream.
  [[nodiscard]] virtual Result<void> answer(const UcxPoint& there) = 0;
};

}  // namespace aqua::courier
