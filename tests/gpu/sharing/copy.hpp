// SPDX-License-Identifier: Apache-2.0
// A copy by one of the library's kernels, which knows nothing of read-only mappings: what an
// engine's kernel is, as far as weights are concerned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/try.hpp"
#include "kernels/copy.hpp"
#include "tests/gpu/first_contact/gpu.hpp"

namespace aqua::sharing_contact {

class KernelCopy {
 public:
  [[nodiscard]] static Result<KernelCopy> prepare(const first_contact::Gpu& gpu, CUdeviceptr dst,
                                                  CUdeviceptr src, std::size_t bytes,
                                                  kernels::CopyKernel kernel) {
    using first_contact::pointer_to;
    constexpr std::size_t kPiece = std::size_t{64} << 10;
    std::vector<kernels::Segment> pieces;
    for (std::size_t at = 0; at < bytes; at += kPiece)
      pieces.push_back({pointer_to(dst + at), pointer_to(src + at), std::min(kPiece, bytes - at)});
    return prepare(gpu, std::move(pieces), kernel);
  }

  // The list of its pieces lies in memory of the GPU from here on.
  [[nodiscard]] static Result<KernelCopy> prepare(
      const first_contact::Gpu& gpu, std::vector<kernels::Segment> pieces,
      kernels::CopyKernel kernel = kernels::CopyKernel::vector) {
    KernelCopy copy;
    copy.launch_ = kernels::describe(pieces);
    const auto list = std::as_bytes(std::span(pieces));
    AQUA_ASSIGN(const CUdeviceptr on_gpu, gpu.allocate(list.size()));
    AQUA_TRY(gpu.write(on_gpu, {list.begin(), list.end()}));
    copy.launch_.segments = reinterpret_cast<const kernels::Segment*>(on_gpu);
    copy.launch_.max_sms = 16;  // several processes' run at once
    copy.launch_.kernel = kernel;
    AQUA_TRY(gpu.done(static_cast<CUresult>(kernels::load_kernels()), "load_kernels"));
    return copy;
  }

  [[nodiscard]] Result<void> queue(const first_contact::Gpu& gpu, CUstream stream) const {
    return gpu.done(static_cast<CUresult>(kernels::copy_segments(launch_, stream)),
                    "copy_segments");
  }

 private:
  kernels::CopyLaunch launch_{};
};

}  // namespace aqua::sharing_contact
