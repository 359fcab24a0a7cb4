// SPDX-License-Identifier: Apache-2.0
#include "runtime/options.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "base/concat.hpp"
#include "base/environment.hpp"
#include "base/own_directory.hpp"
#include "base/try.hpp"
#include "device/cuda/device.hpp"
#include "device/cuda/name.hpp"
#include "device/memfd/device.hpp"
#include "transfer/calibration/curve_store.hpp"

namespace aqua::runtime {
namespace {

constexpr std::size_t kSmallestSlab = std::size_t{2} << 20;
constexpr std::string_view kHostDevice = "host";

}  // namespace

Result<RuntimeOptions> resolve(RuntimeOptions options) {
  if (options.device.empty()) options.device = environment("AQUA_DEVICE");
  if (options.device.empty()) {
    return Error{Code::invalid_argument,
                 "no device is named: set RuntimeOptions::device or $AQUA_DEVICE to \"cuda:N\" or "
                 "\"GPU-UUID\", or to \"emu:N\" for an emulated GPU"};
  }
  if (options.coordinator.empty()) options.coordinator = environment("AQUA_COORDINATOR", "none");
  if (options.device == kHostDevice && options.coordinator != "none") {
    return Error{
        Code::invalid_argument,
        concat("device ", kHostDevice, " lends nothing: its coordinator is \"none\", not \"",
               options.coordinator, "\"")};
  }
  if (options.name.empty()) options.name = program_invocation_short_name;
  if (options.slab_bytes < kSmallestSlab || options.slab_bytes % kSmallestSlab != 0) {
    return Error{Code::invalid_argument, concat("slab_bytes ", options.slab_bytes,
                                                ": must be a multiple of ", kSmallestSlab)};
  }
  if (options.host_bytes == 0) {
    return Error{Code::invalid_argument,
                 "host_bytes 0: tensors need a place to go to when memory is reclaimed"};
  }
  if (options.reclaim_deadline.count() <= 0) {
    return Error{Code::invalid_argument,
                 concat("reclaim_deadline ", options.reclaim_deadline.count(), " ms")};
  }
  if (options.socket_directory.empty()) options.socket_directory = default_own_directory();
  AQUA_TRY(open_own_directory("socket_directory", options.socket_directory));
  if (options.curve_directory.empty())
    options.curve_directory = transfer::default_curve_directory();
  return options;
}

Result<std::optional<Profile>> profile_of(const RuntimeOptions& options) {
  if (options.profile.empty()) return std::optional<Profile>{};
  AQUA_ASSIGN(const Profile profile, read_profile(options.profile));
  if (!profile.complete && profile.role == ProfileRole::neutral) {
    return Error{Code::failed_precondition,
                 concat("profile ", options.profile,
                        ": its run was stopped before it knew whether the engine lends or borrows; "
                        "finish it with `aqua profile --resume`")};
  }
  return std::optional(profile);
}

void apply(const Profile& profile, RuntimeOptions& options) {
  if (profile.role != ProfileRole::consumer || options.max_peer_bytes != 0) return;
  options.max_peer_bytes = profile.swap_bytes;
  options.host_bytes = std::max(options.host_bytes, profile.swap_bytes);
}

Result<std::unique_ptr<device::Device>> open_device(const RuntimeOptions& options) {
  constexpr std::string_view kEmulated = "emu:";
  const std::string_view name = options.device;
  if (name.starts_with(kEmulated)) {
    unsigned ordinal = 0;
    const auto [end, error] =
        std::from_chars(name.data() + kEmulated.size(), name.data() + name.size(), ordinal);
    if (error == std::errc{} && end == name.data() + name.size()) {
      const EmulatedGpuOptions& emulated = options.emulated;
      return device::open_emulated({.ordinal = ordinal,
                                    .total_bytes = emulated.total_bytes,
                                    .hostile = emulated.hostile,
                                    .seed = emulated.seed,
                                    .link_bytes_per_second = emulated.link_bytes_per_second,
                                    .peer_bytes_per_second = emulated.peer_bytes_per_second});
    }
  }
  if (device::is_cuda_name(name)) {
    return device::open_cuda({.device = options.device});
  }
  if (name == kHostDevice) return device::open_host({});
  return Error{Code::invalid_argument,
               concat("device '", name, "': expected emu:N, cuda:N, GPU-UUID or host")};
}

}  // namespace aqua::runtime
