// SPDX-License-Identifier: Apache-2.0
// A member of a KV pool on a real GPU, in a process of its own. Blocks are written and read by
// kernels of this process's. To a packet it answers "ok", or as said here, or what went wrong:
//
//   hand ID N SEED   has a kernel fill N blocks behind slow work, and hands them to "decode"
//                    before that has run; the last one lacks a token
//   take             the id of the next parcel, "ID?" where its tail is in doubt, once a kernel
//                    has read the bytes of the seed in its note
//   finish           ends all that was taken
//   fill N SEED      fills N blocks of its own, "all": as many as it gets, and answers how many
//   check            compares what it filled
//   drop             releases what it filled
//   work N           takes N blocks, has a child that keeps the driver's files open, and answers
//                    with kernels queued that write those blocks for about a second
//
// Threads: one.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "tests/gpu/first_contact/gpu.hpp"

namespace aqua::sharing_contact {

inline constexpr unsigned kPoolBlocks = 128;

// Joins the pool "contact" in this role, says "ok" by `tell`, and obeys what `hear` brings until
// that is "".
[[nodiscard]] Result<void> be_member(const first_contact::Gpu& gpu, std::string_view role,
                                     const std::function<bool(std::string_view)>& tell,
                                     const std::function<std::string()>& hear);

}  // namespace aqua::sharing_contact
