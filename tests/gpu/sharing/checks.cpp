// SPDX-License-Identifier: Apache-2.0
// sharing_contact: what shared weights and KV pools rest on, asked of a real GPU with a real keeper
// and real processes. All that it asks, and what follows from a no.
#include "tests/gpu/sharing/checks.hpp"

#include "tests/gpu/sharing/scene.hpp"

namespace aqua::first_contact {
namespace {

constexpr Check kChecks[]{
    {.name = "descriptor_alone",
     .kind = Kind::assumption,
     .asks = "descriptors in a keeper without context keep memory whose publisher has ended",
     .otherwise =
         "a loader must stay for as long as its weights: the keeper cannot be used as it is",
     .run_without_gpu = sharing_contact::descriptor_alone},
    {.name = "write_faults",
     .kind = Kind::assumption,
     .asks = "a kernel that writes to weights faults, and harms nobody else",
     .otherwise = "mend keeper.md: read-only on CUDA is a promise of each kernel's alone",
     .run = sharing_contact::write_faults},
    {.name = "graph_resume",
     .kind = Kind::assumption,
     .asks = "a captured graph reads the weights that lie at its addresses after resume()",
     .otherwise = "engines must capture their graphs anew after resume(): say so in keeper.md",
     .run = sharing_contact::graph_resume},
    {.name = "mps_kill",
     .kind = Kind::question,
     .asks = "under MPS, SIGKILL of a reader at work leaves the others their bytes and contexts",
     .otherwise = "engines that may be killed must not share weights under MPS",
     .run = sharing_contact::mps_kill},
    {.name = "pool_handoff",
     .kind = Kind::assumption,
     .asks = "kernels of one process read what those of another wrote before it handed it over",
     .otherwise =
         "KV pools on CUDA need more than a mark on the giver's stream: none is to be used",
     .run_without_gpu = sharing_contact::pool_handoff},
    {.name = "pool_kill",
     .kind = Kind::assumption,
     .asks = "a killed member's blocks are quarantined, and all others keep their bytes",
     .otherwise = "a death in a KV pool on CUDA costs bytes: each engine must have its own",
     .run_without_gpu = sharing_contact::pool_kill}};

constexpr Program kProgram{"sharing_contact", std::chrono::seconds(90), sharing_contact::be_peer};

}  // namespace

const Program& program() {
  return kProgram;
}

std::span<const Check> checks() {
  return kChecks;
}

}  // namespace aqua::first_contact
