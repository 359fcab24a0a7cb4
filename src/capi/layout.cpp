// SPDX-License-Identifier: Apache-2.0
#include "aqua/c/layout.h"

#include <span>
#include <vector>

#include "capi/call.hpp"
#include "capi/kv_range.hpp"
#include "capi/objects.hpp"
#include "capi/sized.hpp"

namespace aqua::capi {
namespace {

Result<std::vector<std::byte*>> copy_planes(const char* what, void* const* planes,
                                            std::size_t count) {
  AQUA_CAPI_NOT_NULL(what, planes);
  if (count > AQUA_MAX_PLANES) {
    return Error{Code::invalid_argument,
                 concat(what, ": ", count, " planes, at most ", AQUA_MAX_PLANES)};
  }
  std::vector<std::byte*> copies;
  copies.reserve(count);
  for (void* plane : std::span(planes, count)) copies.push_back(static_cast<std::byte*>(plane));
  return copies;
}

PagedShape to_shape(const aqua_paged_shape& c) {
  return {c.layers, c.block_count, c.tokens_per_block, c.element_bytes,
          c.order == AQUA_HEADS_FIRST ? BlockOrder::heads_first : BlockOrder::tokens_first};
}

Result<void> check_order(const char* what, const aqua_paged_shape& c) {
  if (c.order <= AQUA_HEADS_FIRST) return {};
  return Error{Code::invalid_argument, concat(what, ": order ", c.order, " is none")};
}

BlockAxis axis_of(uint32_t count, std::size_t stride) {
  return {count == 0 ? 1 : count, stride};
}

Result<void> keep(Result<Layout> made, aqua_layout* layout) {
  if (!made.ok()) return std::move(made).error();
  AQUA_ASSIGN(layout->id, layouts().insert(0, std::move(made).value()));
  return {};
}

Result<void> check_count(const char* what, const Layout& layout, std::size_t count) {
  if (count <= layout.spec().block_count) return {};
  return Error{Code::invalid_argument,
               concat(what, ": ", count, " blocks of a layout of ", layout.spec().block_count)};
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::Code;
using aqua::Error;
using aqua::Layout;
using aqua::Result;

extern "C" {

aqua_error* aqua_layout_create(const aqua_layout_spec* spec, aqua_layout* layout) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layout_create";
    AQUA_CAPI_NOT_NULL(what, layout);
    AQUA_ASSIGN(const auto given, take_in("aqua_layout_create: spec", spec));
    aqua::LayoutSpec wanted;
    wanted.layers = given.layers;
    wanted.planes_per_layer = given.planes_per_layer;
    AQUA_ASSIGN(wanted.planes, copy_planes(what, given.planes, given.plane_count));
    wanted.block_count = given.block_count;
    wanted.block_stride = given.block_stride;
    wanted.axes = {axis_of(given.tokens_per_block, given.token_stride),
                   axis_of(given.heads, given.head_stride),
                   axis_of(given.runs_per_head, given.run_stride), given.run_bytes};
    return keep(Layout::make(std::move(wanted)), layout);
  });
}

aqua_error* aqua_layout_create_mha(const aqua_paged_shape* shape, uint32_t kv_heads,
                                   uint32_t head_dim, void* const* key_planes,
                                   void* const* value_planes, aqua_layout* layout) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layout_create_mha";
    AQUA_CAPI_NOT_NULL(what, layout);
    AQUA_ASSIGN(const auto given, take_in("aqua_layout_create_mha: shape", shape));
    AQUA_TRY(check_order(what, given));
    AQUA_ASSIGN(const auto keys, copy_planes(what, key_planes, given.layers));
    AQUA_ASSIGN(const auto values, copy_planes(what, value_planes, given.layers));
    return keep(Layout::mha(to_shape(given), kv_heads, head_dim, keys, values), layout);
  });
}

aqua_error* aqua_layout_create_mla(const aqua_paged_shape* shape, uint32_t latent_dim,
                                   void* const* latent_planes, aqua_layout* layout) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layout_create_mla";
    AQUA_CAPI_NOT_NULL(what, layout);
    AQUA_ASSIGN(const auto given, take_in("aqua_layout_create_mla: shape", shape));
    AQUA_ASSIGN(const auto latents, copy_planes(what, latent_planes, given.layers));
    return keep(Layout::mla(to_shape(given), latent_dim, latents), layout);
  });
}

aqua_error* aqua_layout_free(aqua_layout layout) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto last, layouts().end("aqua_layout_free", layout.id));
    return {};
  });
}

aqua_error* aqua_layout_get_info(aqua_layout layout, aqua_layout_info* info) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layout_get_info";
    AQUA_TRY(check_size(what, info));
    AQUA_ASSIGN(const auto used, layouts().use(what, layout.id));
    const aqua::LayoutSpec& spec = used->spec();
    give_out(aqua_layout_info{sizeof(aqua_layout_info), spec.layers, spec.planes_per_layer,
                              spec.block_count, spec.axes.tokens.count, spec.axes.heads.count,
                              spec.axes.runs.count, used->plane_block_bytes(), used->block_bytes()},
             info);
    return {};
  });
}

aqua_error* aqua_layout_packed_bytes(aqua_layout layout, size_t count, size_t* bytes) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layout_packed_bytes";
    AQUA_CAPI_NOT_NULL(what, bytes);
    AQUA_ASSIGN(const auto used, layouts().use(what, layout.id));
    AQUA_TRY(check_count(what, *used, count));
    *bytes = used->packed_bytes(count);
    return {};
  });
}

aqua_error* aqua_layout_range_bytes(aqua_layout layout, size_t count, const aqua_kv_range* range,
                                    size_t* bytes) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layout_range_bytes";
    AQUA_CAPI_NOT_NULL(what, bytes);
    AQUA_ASSIGN(const auto named, to_range("aqua_layout_range_bytes: range", range));
    AQUA_ASSIGN(const auto used, layouts().use(what, layout.id));
    AQUA_TRY(check_count(what, *used, count));
    AQUA_ASSIGN(*bytes, used->packed_bytes(count, named));
    return {};
  });
}

aqua_error* aqua_layout_packed_offset(aqua_layout layout, uint32_t layer, uint32_t plane,
                                      size_t index, size_t count, size_t* offset) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_layout_packed_offset";
    AQUA_CAPI_NOT_NULL(what, offset);
    AQUA_ASSIGN(const auto used, layouts().use(what, layout.id));
    AQUA_TRY(check_count(what, *used, count));
    const aqua::LayoutSpec& spec = used->spec();
    if (layer >= spec.layers || plane >= spec.planes_per_layer || index >= count) {
      return Error{Code::invalid_argument,
                   aqua::concat(what, ": layer ", layer, " of ", spec.layers, ", plane ", plane,
                                " of ", spec.planes_per_layer, ", index ", index, " of ", count)};
    }
    *offset = used->packed_offset(layer, plane, index, count);
    return {};
  });
}

}  // extern "C"
