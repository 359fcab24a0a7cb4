// SPDX-License-Identifier: Apache-2.0
// Whether two manifests lay their tensors out alike.
#pragma once

#include <algorithm>

#include "aqua/sharing/manifest.hpp"

namespace aqua::sharing {

// Whether addresses into one are good for the other: all but the version, and the bytes.
[[nodiscard]] inline bool laid_out_alike(const Manifest& a, const Manifest& b) {
  const auto same_place = [](const TensorInfo& s, const TensorInfo& t) {
    return s.name == t.name && s.type == t.type && s.shape == t.shape && s.strides == t.strides &&
           s.offset == t.offset && s.view_of == t.view_of;
  };
  return a.slabs == b.slabs && a.types == b.types &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    same_place);
}

}  // namespace aqua::sharing
