// SPDX-License-Identifier: Apache-2.0
// Under MPS all clients of a GPU share what the driver has of it.
#include <cstdlib>
#include <filesystem>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tests/gpu/sharing/checks.hpp"
#include "tests/gpu/sharing/scene.hpp"
#include "tests/gpu/sharing/weights.hpp"

namespace aqua::sharing_contact {
namespace {

using first_contact::Answer;
using first_contact::Clock;
using first_contact::Gpu;

constexpr int kKills = 5;  // each finds the victim's kernels somewhere else

// Why nothing can be asked: contexts of this process are not an MPS server's.
Error not_proven() {
  const char* const told = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string control = concat(told != nullptr ? told : "/tmp/nvidia-mps", "/control");
  std::error_code failed;
  const bool there = std::filesystem::exists(control, failed);
  return {Code::unimplemented,
          concat("not proven: ",
                 there ? "an MPS daemon has left its control file, but the driver says that "
                         "contexts are not shared by MPS"
                       : "no MPS daemon is found here",
                 ". What SIGKILL of one client does to the others nobody has seen")};
}

}  // namespace

Result<Answer> mps_kill(const Gpu& gpu) {
  if (gpu.attribute(CU_DEVICE_ATTRIBUTE_MPS_ENABLED) == 0) return not_proven();
  AQUA_ASSIGN(const Keeper keeper, Keeper::start());
  AQUA_TRY(publish_and_end(1));
  AQUA_ASSIGN(Runtime runtime, open_runtime());
  AQUA_ASSIGN(auto weights, attach(runtime));
  AQUA_ASSIGN(const auto work, WeightsByKernel::prepare(gpu, weights));
  AQUA_ASSIGN(Other reader, Other::start("reader"));
  double slowest = 0;
  for (int kill = 1; kill <= kKills; ++kill) {
    AQUA_ASSIGN(Other victim, Other::start("victim"));
    victim.kill();
    const auto start = Clock::now();
    const std::string seen = reader.ask("1");
    slowest = std::max(slowest, first_contact::microseconds_since(start));
    auto here = compare(gpu, weights, 1);
    if (here.ok()) here = work.run_and_compare(gpu, 1);
    if (seen == "ok" && here.ok()) continue;
    return Answer{
        .detail = concat("after SIGKILL ", kill, ": second reader: ", seen.empty() ? "died" : seen,
                         ", this process: ", here.ok() ? "ok" : here.error().message),
        .figures = {{"kills", kill}}};
  }
  // One that comes afterwards.
  AQUA_ASSIGN(Other late, Other::start("reader"));
  const std::string seen = late.ask("1");
  return Answer{
      .yes = seen == "ok",
      .detail = concat(kKills, " kills: two readers go on, at the slowest after ", slowest,
                       " us; one that comes later: ", seen.empty() ? "died" : seen),
      .figures = {{"kills", kKills}, {"slowest_us", slowest}}};
}

}  // namespace aqua::sharing_contact
