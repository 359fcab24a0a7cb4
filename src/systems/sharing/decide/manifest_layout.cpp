// SPDX-License-Identifier: Apache-2.0
// Where the tensors of a manifest lie.
#include <algorithm>
#include <utility>

#include "aqua/sharing/manifest.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/sharing/decide/file_tensor_checks.hpp"
#include "systems/sharing/decide/manifest_limits.hpp"

namespace aqua::sharing {
namespace {

constexpr std::uint64_t kSlabAlignment = std::uint64_t{2} << 20;  // a device's granularity

template <typename... What>
Error bad_layout(const What&... what) {
  return Error{Code::invalid_argument, concat("manifest: ", what...)};
}

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

Result<std::uint64_t> place_tensors(Manifest& manifest) {
  std::uint64_t end = 0;
  for (TensorInfo& tensor : manifest.tensors) {
    if (tensor.view_of) continue;
    const std::string name = shown(tensor.name);
    if (tensor.type >= manifest.types.size()) return bad_layout(name, ": its type is not there");
    const ElementType& type = manifest.types[tensor.type];
    AQUA_ASSIGN(const std::uint64_t bytes,
                dense_bytes(concat("manifest: ", name), type, tensor.shape));
    tensor.strides = dense_strides(type, tensor.shape);
    tensor.offset = round_up(end, kTensorAlignment);
    if (tensor.offset > kMostManifestBytes || bytes > kMostManifestBytes - tensor.offset) {
      return bad_layout(name, ": ends more than ", kMostManifestBytes, " bytes from the first");
    }
    end = tensor.offset + bytes;
  }
  return end;
}

Result<void> place_views(Manifest& manifest) {
  for (TensorInfo& view : manifest.tensors) {
    if (!view.view_of) continue;
    const std::string name = shown(view.name);
    if (view.type >= manifest.types.size()) return bad_layout(name, ": its type is not there");
    if (*view.view_of >= manifest.tensors.size()) return bad_layout(name, ": a view of nothing");
    if (view.strides.empty()) {
      const ElementType& type = manifest.types[view.type];
      AQUA_TRY(dense_bytes(concat("manifest: ", name), type, view.shape));
      view.strides = dense_strides(type, view.shape);
    }
    const TensorInfo& whole = manifest.tensors[*view.view_of];
    if (whole.view_of) return bad_layout(name, ": a view of ", shown(whole.name), ", which is one");
    if (__builtin_add_overflow(view.offset, whole.offset, &view.offset)) {
      return bad_layout(name, ": reaches beyond ", shown(whole.name));
    }
  }
  return {};
}

}  // namespace

Result<void> lay_out(Manifest& manifest, std::uint64_t slab_bytes) {
  if (slab_bytes == 0) return bad_layout("slabs of 0 bytes");
  Manifest placed = manifest;
  AQUA_ASSIGN(std::uint64_t left, place_tensors(placed));
  AQUA_TRY(place_views(placed));
  const std::uint64_t slabs = left / slab_bytes + (left % slab_bytes != 0 ? 1 : 0);
  if (slabs > kMostManifestSlabs) {
    return bad_layout("takes ", slabs, " slabs of ", slab_bytes, " bytes, more than ",
                      kMostManifestSlabs);
  }
  placed.slabs.assign(slabs, slab_bytes);
  if (slabs > 0 && left % slab_bytes != 0) {
    placed.slabs.back() = std::min(slab_bytes, round_up(left % slab_bytes, kSlabAlignment));
  }
  AQUA_TRY(check(placed));
  manifest = std::move(placed);
  return {};
}

}  // namespace aqua::sharing
