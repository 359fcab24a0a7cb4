// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/manifest.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "base/concat.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"
#include "systems/sharing/decide/manifest_limits.hpp"

namespace aqua::sharing {
namespace {

template <typename... What>
Error bad(const What&... what) {
  return Error{Code::invalid_argument, concat("manifest: ", what...)};
}

Result<void> check_name(std::string_view what, std::string_view name, std::size_t longest) {
  if (name.empty()) return bad(what, " is empty");
  if (name.size() > longest) return bad(what, " is longer than ", longest, " bytes");
  if (!is_plain(name)) return bad(what, " has characters that are not printable ASCII");
  return {};
}

// Adds count * stride; false where that is more than any memory.
bool add(std::uint64_t& sum, std::uint64_t count, std::uint64_t stride) {
  std::uint64_t product = 0;
  return !__builtin_mul_overflow(count, stride, &product) &&
         !__builtin_add_overflow(sum, product, &sum) && sum <= kMostManifestBytes;
}

// None where the shape does not fill whole blocks, or takes more than any memory.
std::optional<std::uint64_t> extent(const ElementType& type, const TensorInfo& tensor) {
  const auto& shape = tensor.shape;
  if (shape.empty()) return type.elements == 1 ? std::optional(type.bytes) : std::nullopt;
  if (shape.back() % type.elements != 0) return std::nullopt;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t sum = type.bytes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool last = axis + 1 == shape.size();
    const std::uint64_t steps = (last ? shape[axis] / type.elements : shape[axis]) - 1;
    if (!add(sum, steps, tensor.strides[axis])) return std::nullopt;
  }
  return sum;
}

// What an address of this type is a multiple of: the largest power of two in its bytes.
std::uint64_t alignment(const ElementType& type) {
  return type.bytes & (~type.bytes + 1);
}

Result<void> check_types(const Manifest& manifest) {
  if (manifest.types.size() > kMostTypes) return bad("has more than ", kMostTypes, " types");
  std::set<std::string_view> names;
  for (const ElementType& type : manifest.types) {
    AQUA_TRY(check_name("the name of a type", type.name, kLongestType));
    if (!names.insert(type.name).second) return bad("type ", type.name, " is there twice");
    if (type.elements == 0 || type.bytes == 0 || type.bytes > kMostBlockBytes) {
      return bad("type ", type.name, " has ", type.elements, " elements in ", type.bytes, " bytes");
    }
  }
  return {};
}

Result<std::uint64_t> check_slabs(const Manifest& manifest) {
  if (manifest.slabs.size() > kMostManifestSlabs) {
    return bad("has more than ", kMostManifestSlabs, " slabs");
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : manifest.slabs) {
    if (bytes == 0 || !add(sum, 1, bytes)) return bad("has slabs of ", bytes, " bytes");
  }
  return sum;
}

// But for what it shares with others.
Result<void> check_tensor(const Manifest& manifest, const TensorInfo& tensor, std::uint64_t room) {
  if (tensor.type >= manifest.types.size()) return bad(tensor.name, ": its type is not there");
  if (tensor.shape.size() > kMostAxes) return bad(tensor.name, ": more than ", kMostAxes, " axes");
  if (tensor.strides.size() != tensor.shape.size()) {
    return bad(tensor.name, ": ", tensor.strides.size(), " strides for ", tensor.shape.size(),
               " axes");
  }
  const ElementType& type = manifest.types[tensor.type];
  const auto bytes = extent(type, tensor);
  if (!bytes) return bad(tensor.name, ": its shape does not fill whole blocks of ", type.name);
  if (tensor.offset > room || *bytes > room - tensor.offset) {
    return bad(tensor.name, ": bytes ", tensor.offset, " to ", tensor.offset, " + ", *bytes,
               " of slabs of ", room);
  }
  std::uint64_t odd = tensor.offset;
  for (const std::uint64_t stride : tensor.strides) odd |= stride;
  if (odd % alignment(type) != 0) {
    return bad(tensor.name, ": its offset or strides are no multiples of ", alignment(type));
  }
  return {};
}

Result<void> check_view(const Manifest& manifest, const TensorInfo& view) {
  const std::uint32_t of = *view.view_of;
  if (of >= manifest.tensors.size()) return bad(view.name, ": a view of nothing");
  const TensorInfo& whole = manifest.tensors[of];
  if (whole.view_of) return bad(view.name, ": a view of ", whole.name, ", which is one itself");
  const std::uint64_t end = view.offset + tensor_bytes(manifest, view);
  if (view.offset < whole.offset || end > whole.offset + tensor_bytes(manifest, whole)) {
    return bad(view.name, ": reaches beyond ", whole.name, ", which it is a view of");
  }
  return {};
}

// Two tensors have no byte in common, unless one is a view.
Result<void> check_disjoint(const Manifest& manifest) {
  std::vector<const TensorInfo*> own;
  own.reserve(manifest.tensors.size());
  for (const TensorInfo& tensor : manifest.tensors) {
    if (!tensor.view_of && tensor_bytes(manifest, tensor) > 0) own.push_back(&tensor);
  }
  std::sort(own.begin(), own.end(),
            [](const auto* a, const auto* b) { return a->offset < b->offset; });
  for (std::size_t i = 0; i + 1 < own.size(); ++i) {
    if (own[i]->offset + tensor_bytes(manifest, *own[i]) > own[i + 1]->offset) {
      return bad(own[i + 1]->name, ": has bytes of ", own[i]->name, " and is no view of it");
    }
  }
  return {};
}

}  // namespace

std::uint64_t slab_bytes(const Manifest& manifest) {
  return std::accumulate(manifest.slabs.begin(), manifest.slabs.end(), std::uint64_t{0});
}

std::uint64_t tensor_bytes(const Manifest& manifest, const TensorInfo& tensor) {
  return extent(manifest.types[tensor.type], tensor).value_or(0);
}

std::vector<std::uint64_t> dense_strides(const ElementType& type,
                                         const std::vector<std::uint64_t>& shape) {
  std::vector<std::uint64_t> strides(shape.size());
  std::uint64_t stride = type.bytes;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= axis + 1 == shape.size() ? shape[axis] / type.elements : shape[axis];
  }
  return strides;
}

Result<void> check(const Manifest& manifest) {
  AQUA_TRY(check_name("the model's name", manifest.model, kLongestModel));
  AQUA_TRY(check_name("the version", manifest.version, kLongestModel));
  if (manifest.shards == 0 || manifest.shards > kMostShards || manifest.shard >= manifest.shards) {
    return bad("shard ", manifest.shard, " of ", manifest.shards);
  }
  AQUA_TRY(check_types(manifest));
  AQUA_ASSIGN(const std::uint64_t room, check_slabs(manifest));
  if (manifest.tensors.size() > kMostTensors)
    return bad("has more than ", kMostTensors, " tensors");
  std::set<std::string_view> names;
  for (const TensorInfo& tensor : manifest.tensors) {
    AQUA_TRY(check_name("the name of a tensor", tensor.name, kLongestTensor));
    if (!names.insert(tensor.name).second) return bad(tensor.name, " is there twice");
    AQUA_TRY(check_tensor(manifest, tensor, room));
  }
  for (const TensorInfo& tensor : manifest.tensors) {
    if (tensor.view_of) AQUA_TRY(check_view(manifest, tensor));
  }
  return check_disjoint(manifest);
}

}  // namespace aqua::sharing
