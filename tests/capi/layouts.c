/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capi/check.h"
#include "tests/capi/parts.h"

static void* address(size_t n) {
  return (void*)(uintptr_t)(n * MIB);
}

void test_layouts(void) {
  void* planes[4] = {address(1), address(2), address(3), address(4)};
  aqua_layout layout;
  aqua_layout_info info = AQUA_LAYOUT_INFO_INIT;
  size_t n = 0;

  aqua_layout_spec spec = AQUA_LAYOUT_SPEC_INIT;
  spec.layers = 2;
  spec.planes_per_layer = 2;
  spec.planes = planes;
  spec.plane_count = 4;
  spec.block_count = 8;
  spec.block_stride = 8192;
  spec.tokens_per_block = 4;
  spec.heads = 2;
  spec.token_stride = 256;
  spec.head_stride = 4096;
  spec.run_bytes = 256;
  OK(aqua_layout_create(&spec, &layout));
  OK(aqua_layout_get_info(layout, &info));
  CHECK(info.layers == 2 && info.planes_per_layer == 2 && info.block_count == 8);
  CHECK(info.plane_block_bytes == 2048 && info.block_bytes == 8192);
  CHECK(info.tokens_per_block == 4 && info.heads == 2 && info.runs_per_head == 1);
  aqua_kv_range range = AQUA_KV_RANGE_INIT;
  OK(aqua_layout_range_bytes(layout, 3, &range, &n));
  CHECK(n == 3 * 8192);
  range.first_token = 11;
  range.token_count = 1;
  OK(aqua_layout_range_bytes(layout, 3, &range, &n));
  CHECK(n == 4 * 2 * 256); /* of a token, in four planes */
  range.first_token = 12;
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_range_bytes(layout, 3, &range, &n));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_range_bytes(layout, 9, &range, &n));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_range_bytes(layout, 3, NULL, &n));
  OK(aqua_layout_packed_bytes(layout, 3, &n));
  CHECK(n == 3 * 8192);
  OK(aqua_layout_packed_offset(layout, 1, 1, 2, 3, &n));
  CHECK(n == (3 * 3 + 2) * 2048);
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_packed_bytes(layout, 9, &n));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_packed_offset(layout, 2, 0, 0, 1, &n));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_packed_offset(layout, 0, 0, 1, 1, &n));
  OK(aqua_layout_free(layout));
  FAILS(AQUA_NOT_FOUND, aqua_layout_free(layout));

  /* Layouts that lie. */
  spec.plane_count = 3;
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_create(&spec, &layout));
  spec.plane_count = SIZE_MAX;
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_create(&spec, &layout));
  spec.plane_count = 4;
  spec.block_stride = 1024; /* blocks share bytes */
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_create(&spec, &layout));
  spec.block_stride = SIZE_MAX;
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_create(&spec, &layout));
  spec.block_stride = 8192;
  planes[3] = planes[0];
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_create(&spec, &layout));
  planes[3] = NULL;
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_create(&spec, &layout));
  planes[3] = address(4);

  aqua_paged_shape shape = AQUA_PAGED_SHAPE_INIT;
  shape.layers = 2;
  shape.block_count = 16;
  shape.tokens_per_block = 16;
  shape.element_bytes = 2;
  OK(aqua_layout_create_mha(&shape, 2, 64, planes, planes + 2, &layout));
  OK(aqua_layout_get_info(layout, &info));
  CHECK(info.planes_per_layer == 2 && info.plane_block_bytes == 16 * 2 * 64 * 2);
  OK(aqua_layout_free(layout));
  shape.order = AQUA_HEADS_FIRST;
  OK(aqua_layout_create_mha(&shape, 2, 64, planes, planes + 2, &layout));
  OK(aqua_layout_free(layout));
  shape.order = 2;
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_create_mha(&shape, 2, 64, planes, planes + 2, &layout));
  shape.order = AQUA_TOKENS_FIRST;
  OK(aqua_layout_create_mla(&shape, 576, planes, &layout));
  OK(aqua_layout_get_info(layout, &info));
  CHECK(info.planes_per_layer == 1 && info.plane_block_bytes == 16 * 576 * 2);
  OK(aqua_layout_free(layout));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_layout_create_mla(&shape, 0, planes, &layout));
}
