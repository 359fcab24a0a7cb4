// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/sharing/roles.hpp"

#include <charconv>
#include <chrono>
#include <string>

#include "base/concat.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"
#include "tests/base/spawned_peer.hpp"
#include "tests/gpu/sharing/copy.hpp"
#include "tests/gpu/sharing/pool_member.hpp"
#include "tests/gpu/sharing/weights.hpp"

namespace aqua::sharing_contact {
namespace {

using first_contact::Gpu;

constexpr std::chrono::hours kForever{1};

// The next packet; "" when nobody is there any more.
std::string hear() {
  const auto message = receive_message(test::kPeerSocket, 4096, kForever);
  if (!message.ok()) return "";
  return {reinterpret_cast<const char*>(message->bytes.data()), message->bytes.size()};
}

unsigned number_in(std::string_view text) {
  unsigned number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Result<void> read(const Gpu& gpu, const Tell& tell) {
  AQUA_TRY(fill_other_memory(gpu));
  AQUA_ASSIGN(Runtime runtime, open_runtime());
  AQUA_ASSIGN(auto weights, attach(runtime));
  AQUA_ASSIGN(const WeightsByKernel copy, WeightsByKernel::prepare(gpu, weights));
  for (bool heard = tell("ok"); heard;) {
    const std::string packet = hear();
    if (packet.empty()) break;
    const unsigned version = number_in(packet);
    auto same = compare(gpu, weights, version);
    if (same.ok()) same = copy.run_and_compare(gpu, version);
    heard = tell(same.ok() ? "ok" : same.error().message);
  }
  return {};
}

Result<void> write(const Gpu& gpu, const Tell& tell, std::string_view kind) {
  AQUA_ASSIGN(Runtime runtime, open_runtime());
  AQUA_ASSIGN(const auto weights, attach(runtime));
  const auto tensor = weights.tensor(0);
  AQUA_ASSIGN(const CUdeviceptr ours, gpu.allocate(tensor.bytes));
  AQUA_TRY(gpu.write(ours, std::vector<std::byte>(tensor.bytes, std::byte{0x5a})));
  const auto kernel = kind == "bulk" ? kernels::CopyKernel::bulk : kernels::CopyKernel::vector;
  const auto weight = first_contact::address_of(tensor.address);
  AQUA_ASSIGN(const auto copy, KernelCopy::prepare(gpu, weight, ours, tensor.bytes, kernel));
  AQUA_ASSIGN(const CUstream stream, gpu.stream());
  AQUA_TRY(copy.queue(gpu, stream));
  const CUresult written = gpu.cuda().StreamSynchronize(stream);
  CUdeviceptr more = 0;
  const CUresult afterwards = gpu.cuda().MemAlloc(&more, gpu.granule());
  (void)tell(concat(gpu.name_of(written), " ", gpu.name_of(afterwards)));
  (void)hear();
  return {};
}

Result<void> work(const Gpu& gpu, const Tell& tell) {
  AQUA_ASSIGN(Runtime runtime, open_runtime());
  AQUA_ASSIGN(const auto weights, attach(runtime));
  AQUA_ASSIGN(const WeightsByKernel copy, WeightsByKernel::prepare(gpu, weights));
  AQUA_ASSIGN(const CUstream stream, gpu.stream());
  for (bool told = false;;) {
    for (int i = 0; i < 512; ++i) AQUA_TRY(copy.queue(gpu, stream));
    if (!told && !tell("ok")) return {};
    told = true;
    if (peer_has_closed(test::kPeerSocket)) return {};
    AQUA_TRY(gpu.wait(stream));
  }
}

Result<void> perform(std::string_view role, const Gpu& gpu, const Tell& tell) {
  const std::size_t space = role.find(' ');
  const std::string_view verb = role.substr(0, space);
  const std::string_view word = space == role.npos ? "" : role.substr(space + 1);
  if (verb == "publisher") {
    AQUA_TRY(publish(number_in(word)));
    (void)tell("ok");
    return {};
  }
  if (verb == "reader") return read(gpu, tell);
  if (verb == "writer") return write(gpu, tell, word);
  if (verb == "victim") return work(gpu, tell);
  if (verb == "member") return be_member(gpu, word, tell, hear);
  if (verb != "bystander") return Error{Code::invalid_argument, concat("what is ", role, "?")};
  (void)tell("ok");
  (void)hear();
  return {};
}

}  // namespace

bool play(std::string_view role, const Gpu& gpu, const Tell& tell) {
  const auto played = perform(role, gpu, tell);
  if (!played.ok()) (void)tell(played.error().message);
  return played.ok();
}

}  // namespace aqua::sharing_contact
