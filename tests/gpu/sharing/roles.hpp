// SPDX-License-Identifier: Apache-2.0
// What the other processes of a check do, each in a process of its own with a context of its own.
//
//   publisher N   publishes version N, says "ok", and ends
//   reader        fills memory of its own, attaches the newest version, says "ok"; to each packet
//   "N"
//                 it answers "ok" where every byte is version N's, by copies, digests and a kernel
//   writer KIND   attaches, lets a kernel (vector or bulk) write to the weights, and says what the
//                 driver answered: of the kernel, and of the context afterwards
//   victim        attaches, says "ok" with kernels queued that read the weights, and queues more
//   bystander     has a context
//   member ROLE   of a KV pool (pool_member.hpp)
//
// All but the publisher stay until they are killed, or the other end of the socket is gone.
#pragma once

#include <functional>
#include <string_view>

#include "tests/gpu/first_contact/gpu.hpp"

namespace aqua::sharing_contact {

// False: nobody hears any more.
using Tell = std::function<bool(std::string_view)>;

// Whether the role was played to its end. What went wrong has been told.
[[nodiscard]] bool play(std::string_view role, const first_contact::Gpu& gpu, const Tell& tell);

}  // namespace aqua::sharing_contact
