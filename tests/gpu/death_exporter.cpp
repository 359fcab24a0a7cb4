// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>

#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"
#include "tests/base/spawned_peer.hpp"
#include "tests/gpu/exporter_death.hpp"

namespace aqua::gpu {

Result<void> be_exporter(const Question& question) {
  constexpr std::chrono::seconds kPatience{60};
  AQUA_ASSIGN(const auto device, open(question));
  AQUA_ASSIGN(const auto slab, device->create_slab(question.bytes));
  AQUA_ASSIGN(Mapped mapped, Mapped::make(*device, *slab));
  AQUA_TRY(write(*device, mapped, pattern(question.bytes, kExporterSeed)));
  AQUA_ASSIGN(const UniqueFd fd, device->export_slab(*slab));
  const std::array<std::byte, 1> greeting{};
  const std::array<int, 1> fds{fd.get()};
  AQUA_TRY(send_message(test::kPeerSocket, greeting, fds, kPatience));
  AQUA_TRY(receive_message(test::kPeerSocket, 0, kPatience));  // nothing comes but SIGKILL
  return {};
}

}  // namespace aqua::gpu
