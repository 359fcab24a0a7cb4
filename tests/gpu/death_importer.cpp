// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"
#include "tests/base/spawned_peer.hpp"
#include "tests/gpu/exporter_death.hpp"

namespace aqua::gpu {
namespace {

constexpr std::chrono::seconds kPatience{60};

// From the exporter: this program once more, in a process of its own.
Result<UniqueFd> receive_slab(const test::SpawnedPeer& exporter) {
  AQUA_ASSIGN(Message message, receive_message(exporter.socket(), 1, kPatience));
  if (message.fds.size() != 1) return Error{Code::not_found, "the exporter sent no slab"};
  return std::move(message.fds[0]);
}

// Memory allocated and filled now must not be the dead exporter's.
Result<bool> stays_apart(device::Device& device, const Mapped& borrowed,
                         const std::vector<std::byte>& bytes) {
  AQUA_ASSIGN(const auto slab, device.create_slab(bytes.size()));
  AQUA_ASSIGN(Mapped fresh, Mapped::make(device, *slab));
  AQUA_TRY(write(device, fresh, std::vector<std::byte>(bytes.size(), std::byte{0x5a})));
  AQUA_ASSIGN(const auto seen, read(device, borrowed));
  return seen == bytes;
}

Result<void> look(device::Device& device, Mapped& borrowed, std::size_t bytes, Answer& answer) {
  AQUA_ASSIGN(const auto left, read(device, borrowed));
  answer.readable = left == pattern(bytes, kExporterSeed);
  const auto ours = pattern(bytes, kImporterSeed);
  AQUA_TRY(write(device, borrowed, ours));
  AQUA_ASSIGN(const auto seen, read(device, borrowed));
  answer.writable = seen == ours;
  AQUA_ASSIGN(answer.kept_apart, stays_apart(device, borrowed, ours));
  return {};
}

// The GPU has at least half of the bytes back within a while. A driver tells nobody when memory
// of a dead process is free again: asking now and then is all there is.
bool come_back(const device::Device& device, std::size_t before, std::size_t bytes) {
  for (int tries = 0; tries < 50; ++tries) {
    if (device.free_bytes() >= before + bytes / 2) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace

Result<Answer> ask(const Question& question) {
  AQUA_ASSIGN(auto exporter,
              test::SpawnedPeer::spawn({"/proc/self/exe", "--exporter", "--device", question.device,
                                        "--bytes", std::to_string(question.bytes)}));
  AQUA_ASSIGN(const auto device, open(question));
  AQUA_ASSIGN(UniqueFd fd, receive_slab(exporter));
  AQUA_ASSIGN(auto slab, device->import_slab(std::move(fd), question.bytes));
  AQUA_ASSIGN(Mapped borrowed, Mapped::make(*device, *slab));
  slab.reset();  // from here on only the mapping holds the memory
  AQUA_ASSIGN(const auto first, read(*device, borrowed));
  if (first != pattern(question.bytes, kExporterSeed)) {
    return Error{Code::internal, "the import does not read the exporter's bytes while it lives"};
  }
  (void)exporter.kill();
  Answer answer{.device = device->info().name, .driver = device->info().driver};
  if (auto looked = look(*device, borrowed, question.bytes, answer); !looked.ok()) {
    answer.error = looked.error().message;
  }
  const std::size_t before = device->free_bytes();
  borrowed.range.reset();
  answer.returned =
      device->info().kind != device::Kind::cuda || come_back(*device, before, question.bytes);
  return answer;
}

}  // namespace aqua::gpu
