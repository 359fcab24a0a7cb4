/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts describe an engine's paged KV cache once, so that block numbers are enough to move
 * blocks in every layer with one call. A layout never changes and belongs to no runtime.
 *
 *   address(layer, plane, block, token, head, run) =
 *       planes[layer * planes_per_layer + plane] + block * block_stride
 *           + token * token_stride + head * head_stride + run * run_stride
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
  void* const* planes;       /* layers * planes_per_layer addresses, layer by layer; copied */
  size_t plane_count;        /* of `planes`; at most AQUA_MAX_PLANES */
  uint32_t block_count;      /* blocks in each plane, numbered from 0 */
  uint32_t tokens_per_block; /* 0: 1, as for the next two. A stride is unused for one */
  uint32_t heads;            /* that a plane stores */
  uint32_t runs_per_head;    /* that one head of one token falls into, in the order of its bytes */
  size_t block_stride;       /* from a block to the next */
  size_t token_stride;
  size_t head_stride;
  size_t run_stride;
  size_t run_bytes; /* of one; of a block of whose inside nothing is told, all of it */
} aqua_layout_spec;
#define AQUA_LAYOUT_SPEC_INIT \
  { sizeof(aqua_layout_spec), 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

typedef uint32_t aqua_block_order;
enum {
  AQUA_TOKENS_FIRST = 0, /* [token][head] */
  AQUA_HEADS_FIRST = 1   /* [head][token] */
};

/* The usual shape: a block holds tokens_per_block tokens of one layer, densely. */
typedef struct aqua_paged_shape {
  size_t struct_size;
  uint32_t layers;
  uint32_t block_count;
  uint32_t tokens_per_block;
  uint32_t element_bytes;
  aqua_block_order order; /* of keys and values; latents have one head */
} aqua_paged_shape;
#define AQUA_PAGED_SHAPE_INIT \
  { sizeof(aqua_paged_shape), 0, 0, 0, 0, AQUA_TOKENS_FIRST }

typedef struct aqua_layout_info {
  size_t struct_size;
  uint32_t layers;
  uint32_t planes_per_layer;
  uint32_t block_count;
  uint32_t tokens_per_block;
  uint32_t heads;
  uint32_t runs_per_head;
  size_t plane_block_bytes; /* of one block in one plane */
  size_t block_bytes;       /* of one block in all layers and planes: what it takes of a tensor */
} aqua_layout_info;
#define AQUA_LAYOUT_INFO_INIT \
  { sizeof(aqua_layout_info), 0, 0, 0, 0, 0, 0, 0, 0 }

/* A part of one sequence, whose blocks are listed in the order of its tokens: so many layers,
 * tokens and heads, from the first named ones on. AQUA_TO_THE_END: all that are left. A step of an
 * engine adds one token: first_token is its number, token_count 1. */
#define AQUA_TO_THE_END UINT32_MAX
typedef struct aqua_kv_range {
  size_t struct_size;
  uint32_t first_layer;
  uint32_t layer_count;
  uint32_t first_token;
  uint32_t token_count;
  uint32_t first_head;
  uint32_t head_count;
} aqua_kv_range;
#define AQUA_KV_RANGE_INIT \
  { sizeof(aqua_kv_range), 0, AQUA_TO_THE_END, 0, AQUA_TO_THE_END, 0, AQUA_TO_THE_END }

/* invalid_argument, naming the field, when a size is zero or overflows, an address is NULL, two
 * pieces would share a byte, or strides that do not nest have too many pieces to tell. Likewise for
 * the next two. */
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
/* The packed form of a range of a sequence that has `count` blocks: layer by layer, plane by plane,
 * token by token, head by head, without gaps, whatever the layout. invalid_argument for a range
 * that so many blocks do not have. */
AQUA_CALL aqua_error* aqua_layout_range_bytes(aqua_layout layout, size_t count,
                                              const aqua_kv_range* range, size_t* bytes);

#ifdef __cplusplus
}
#endif

#endif
