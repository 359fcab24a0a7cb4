// SPDX-License-Identifier: Apache-2.0
// The process at the other end of the sharing tests: device_peer lend|borrow KIND.
//   lend    fills a slab, sends its descriptor and stays until it is killed.
//   borrow  receives a slab, checks the lender's bytes, leaves its own and exits with 0.
#include "tests/device/peer.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"
#include "tests/base/spawned_peer.hpp"
#include "tests/device/device_kinds.hpp"

namespace aqua::device {
namespace {

constexpr std::chrono::seconds kPatience{60};

Result<void> lend(Device& device) {
  const Place place = make_place(device, kPeerSlabBytes);
  upload(device, place.base(), pattern(kPeerSlabBytes, kLenderSeed));
  AQUA_ASSIGN(const UniqueFd fd, device.export_slab(*place.slab));
  const std::array<std::byte, 1> greeting{};
  const std::array<int, 1> fds{fd.get()};
  AQUA_TRY(send_message(test::kPeerSocket, greeting, fds, kPatience));
  AQUA_TRY(receive_message(test::kPeerSocket, 1, kPatience));
  return {};
}

Result<void> borrow(Device& device) {
  AQUA_ASSIGN(Message message, receive_message(test::kPeerSocket, 1, kPatience));
  if (message.fds.size() != 1) return Error{Code::not_found, "no slab came"};
  AQUA_ASSIGN(auto slab, device.import_slab(std::move(message.fds[0]), kPeerSlabBytes));
  const Place place = place_slab(device, std::move(slab));
  if (download(device, place.base(), kPeerSlabBytes) != pattern(kPeerSlabBytes, kLenderSeed)) {
    return Error{Code::data_loss, "not the lender's bytes"};
  }
  upload(device, place.base(), pattern(kPeerSlabBytes, kBorrowerSeed));
  return {};
}

}  // namespace
}  // namespace aqua::device

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto device = aqua::device::open_kind(argv[2], 2 * aqua::device::kPeerSlabBytes);
  const auto done =
      argv[1] == std::string("lend") ? aqua::device::lend(*device) : aqua::device::borrow(*device);
  if (!done.ok()) std::fprintf(stderr, "device_peer: %s\n", done.error().message.c_str());
  return done.ok() ? 0 : 1;
}
