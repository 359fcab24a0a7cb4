/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts describe an engine's paged KV cache once, so that block numbers are enough to move
 * blocks in every layer with one call. A layout never changes and belongs to no runtime.
 *
 *   address(layer, plane, block, segment) =
 *       planes[layer * planes_per_layer + plane] + block * block_stride + segment * segment_stride
 *
 * The addresses are the device's and stay the engine's. That memory is there for every block
 * cannot be checked here: a layout that promises more than there is makes copies fail. */
#ifndef AQUA_C_LAYOUT_H
#define AQUA_C_LAYOUT_H

#include "aqua/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AQUA_MAX_PLANES 65536

typedef struct aqua_layout_spec {
  size_t struct_size;
  uint32_t layers;
  uint32_t planes_per_layer;
  void* const* planes;         /* layers * planes_per_layer addresses, layer by layer; copied */
  size_t plane_count;          /* of `planes`; at most AQUA_MAX_PLANES */
  uint32_t block_count;        /* blocks in each plane, numbered from 0 */
  uint32_t segments_per_block; /* runs of bytes of one block in one plane. 0: 1 */
  size_t block_stride;         /* from a block to the next */
  size_t segment_bytes;
  size_t segment_stride; /* from a run to the next of the same block; unused for one run */
} aqua_layout_spec;
#define AQUA_LAYOUT_SPEC_INIT \
  { sizeof(aqua_layout_spec), 0, 0, NULL, 0, 0, 0, 0, 0, 0 }

/* The usual shape: a block holds tokens_per_block tokens of one layer, densely. */
typedef struct aqua_paged_shape {
  size_t struct_size;
  uint32_t layers;
  uint32_t block_count;
  uint32_t tokens_per_block;
  uint32_t element_bytes;
} aqua_paged_shape;
#define AQUA_PAGED_SHAPE_INIT \
  { sizeof(aqua_paged_shape), 0, 0, 0, 0 }

typedef struct aqua_layout_info {
  size_t struct_size;
  uint32_t layers;
  uint32_t planes_per_layer;
  uint32_t block_count;
  uint32_t segments_per_block;
  size_t plane_block_bytes; /* of one block in one plane */
  size_t block_bytes;       /* of one block in all layers and planes: what it takes of a tensor */
} aqua_layout_info;
#define AQUA_LAYOUT_INFO_INIT \
  { sizeof(aqua_layout_info), 0, 0, 0, 0, 0, 0 }

/* invalid_argument, naming the field, when a size is zero or overflows, an address is NULL, or
 * two blocks would share a byte. Likewise for the next two. */
AQUA_CALL aqua_error* aqua_layout_create(const aqua_layout_spec* spec, aqua_layout* layout);
/* Keys and values in planes of their own, shape->layers of each. */
AQUA_CALL aqua_error* aqua_layout_create_mha(const aqua_paged_shape* shape, uint32_t kv_heads,
                                             uint32_t head_dim, void* const* key_planes,
                                             void* const* value_planes, aqua_layout* layout);
/* One plane of latents per layer; latent_dim includes the rope part. */
AQUA_CALL aqua_error* aqua_layout_create_mla(const aqua_paged_shape* shape, uint32_t latent_dim,
                                             void* const* latent_planes, aqua_layout* layout);
/* Transfers under way keep what they need. */
AQUA_CALL aqua_error* aqua_layout_free(aqua_layout layout);
AQUA_CALL aqua_error* aqua_layout_get_info(aqua_layout layout, aqua_layout_info* info);

/* The packed form: how `count` listed blocks lie in a tensor. Layer by layer, then plane by
 * plane, then in list order, without gaps. invalid_argument for numbers out of range. */
AQUA_CALL aqua_error* aqua_layout_packed_bytes(aqua_layout layout, size_t count, size_t* bytes);
AQUA_CALL aqua_error* aqua_layout_packed_offset(aqua_layout layout, uint32_t layer, uint32_t plane,
                                                size_t index, size_t count, size_t* offset);

#ifdef __cplusplus
}
#endif

#endif
