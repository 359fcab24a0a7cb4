/* SPDX-License-Identifier: Apache-2.0 */
#include "aqua/aqua_emulated.h"
#include "tests/capi/check.h"
#include "tests/capi/parts.h"

enum { kLayers = 2, kBlocks = 32, kBlockBytes = 16 * 4 * 16 * 2 };

static aqua_runtime open_alone(const char* directory, uint32_t hostile) {
  aqua_emulated_gpu gpu = AQUA_EMULATED_GPU_INIT;
  gpu.hostile = hostile;
  gpu.total_bytes = 256 * MIB;
  aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
  options.device = "emu:3";
  options.coordinator = "none";
  options.name = "capi test";
  options.socket_directory = directory;
  options.host_bytes = 16 * MIB;
  options.emulated = &gpu;
  aqua_runtime runtime;
  OK(aqua_runtime_open(&options, &runtime));
  return runtime;
}

static void add_one(void* user) {
  unsigned char* byte = aqua_emulated_view(user);
  ++*byte;
}

static void test_tensors(aqua_runtime runtime, aqua_stream stream) {
  aqua_tensor_options options = AQUA_TENSOR_OPTIONS_INIT;
  options.bytes = 1 * MIB;
  options.name = "seq 42";
  aqua_tensor tensor;
  OK(aqua_tensor_allocate(runtime, &options, &tensor));
  aqua_tier tier = 99;
  OK(aqua_tensor_get_tier(tensor, &tier));
  CHECK(tier == AQUA_TIER_HOST);
  aqua_tensor_info info = AQUA_TENSOR_INFO_INIT;
  OK(aqua_tensor_get_info(tensor, &info));
  CHECK(info.bytes == MIB && info.lost == 0 && info.tensor_id != 0);
  CHECK(strcmp(info.name, "seq 42") == 0);

  aqua_pin pin;
  void* data = NULL;
  OK(aqua_tensor_pin(tensor, AQUA_ACCESS_WRITE, stream, 4096, AQUA_WHOLE_TENSOR, &pin, &data));
  aqua_pin_info held = AQUA_PIN_INFO_INIT;
  OK(aqua_pin_get_info(pin, &held));
  CHECK(held.data == data && held.bytes == MIB - 4096 && held.tier == AQUA_TIER_HOST);
  const char text[] = "written in stream order";
  char back[sizeof text] = {0};
  OK(aqua_emulated_write(runtime, stream, data, text, sizeof text));
  OK(aqua_emulated_launch(runtime, stream, add_one, data));
  OK(aqua_emulated_read(runtime, stream, data, back, sizeof back));
  OK(aqua_emulated_synchronize(runtime, stream));
  CHECK(back[0] == 'x' && strcmp(back + 1, text + 1) == 0);
  FAILS(AQUA_FAILED_PRECONDITION, aqua_runtime_close(runtime));
  OK(aqua_pin_release(pin));
  FAILS(AQUA_NOT_FOUND, aqua_pin_release(pin));

  OK(aqua_tensor_pin(tensor, AQUA_ACCESS_READ, 0, 0, 100, &pin, NULL));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_pin_release_on(pin, 123456789));
  OK(aqua_pin_release_on(pin, stream));
  FAILS(AQUA_INVALID_ARGUMENT,
        aqua_tensor_pin(tensor, AQUA_ACCESS_READ, 123456789, 0, 1, &pin, NULL));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_tensor_pin(tensor, 7, 0, 0, 1, &pin, NULL));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_tensor_pin(tensor, 0, 0, MIB, 1, &pin, NULL));
  OK(aqua_tensor_get_info(tensor, &info));
  CHECK(info.lost == 0);
  OK(aqua_tensor_free(tensor));
  FAILS(AQUA_NOT_FOUND, aqua_tensor_free(tensor));
  FAILS(AQUA_NOT_FOUND, aqua_tensor_get_tier(tensor, &tier));
}

/* Blocks out, cache wiped, blocks back to other places: the bytes are the same. */
static void test_round_trip(aqua_runtime runtime, aqua_stream stream) {
  enum { kPlaneBytes = kBlocks * kBlockBytes };
  static unsigned char cache[kLayers * 2 * kPlaneBytes];
  static unsigned char seen[sizeof cache];
  aqua_emulated_memory memory;
  void* base = NULL;
  OK(aqua_emulated_allocate(runtime, sizeof cache, &memory, &base));
  void* planes[kLayers * 2];
  for (size_t p = 0; p < kLayers * 2; ++p) planes[p] = (char*)base + p * kPlaneBytes;
  for (size_t i = 0; i < sizeof cache; ++i) cache[i] = (unsigned char)(i * 2654435761u >> 13);
  OK(aqua_emulated_write(runtime, stream, base, cache, sizeof cache));

  aqua_paged_shape shape = AQUA_PAGED_SHAPE_INIT;
  shape.layers = kLayers;
  shape.block_count = kBlocks;
  shape.tokens_per_block = 16;
  shape.element_bytes = 2;
  aqua_layout layout;
  OK(aqua_layout_create_mha(&shape, 4, 16, planes, planes + kLayers, &layout));
  const uint32_t from[3] = {5, 30, 0};
  const uint32_t to[3] = {7, 8, 1};
  aqua_tensor_options options = AQUA_TENSOR_OPTIONS_INIT;
  OK(aqua_layout_packed_bytes(layout, 3, &options.bytes));
  aqua_tensor tensor;
  OK(aqua_tensor_allocate(runtime, &options, &tensor));
  aqua_ticket out;
  aqua_ticket back;
  OK(aqua_offload(layout, from, 3, tensor, stream, 0, &out));
  OK(aqua_fetch(tensor, layout, to, 3, stream, 0, &back));
  OK(aqua_emulated_read(runtime, stream, base, seen, sizeof seen));
  OK(aqua_ticket_wait(out));
  OK(aqua_ticket_wait(back));
  int done = 0;
  size_t bytes = 0;
  OK(aqua_ticket_done(back, &done));
  CHECK(done == 1);
  OK(aqua_ticket_layer_done(back, 1, &done));
  CHECK(done == 1);
  FAILS(AQUA_INVALID_ARGUMENT, aqua_ticket_layer_done(back, kLayers, &done));
  OK(aqua_ticket_stream_wait(back, 0, 1));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_ticket_stream_wait(back, 0, kLayers));
  OK(aqua_ticket_get_bytes(back, &bytes));
  CHECK(bytes == options.bytes);
  OK(aqua_ticket_cancel(back)); /* too late: no effect */
  OK(aqua_ticket_wait(back));
  OK(aqua_emulated_synchronize(runtime, stream));
  for (size_t p = 0; p < kLayers * 2; ++p) {
    for (size_t b = 0; b < 3; ++b) {
      CHECK(memcmp(seen + p * kPlaneBytes + to[b] * kBlockBytes,
                   cache + p * kPlaneBytes + from[b] * kBlockBytes, kBlockBytes) == 0);
    }
  }

  const uint32_t twice[2] = {4, 4};
  const uint32_t beyond[1] = {kBlocks};
  FAILS(AQUA_INVALID_ARGUMENT, aqua_offload(layout, twice, 2, tensor, stream, 0, NULL));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_offload(layout, beyond, 1, tensor, stream, 0, NULL));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_offload(layout, from, SIZE_MAX, tensor, stream, 0, NULL));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_offload(layout, NULL, 1, tensor, stream, 0, NULL));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_fetch(tensor, layout, to, 3, stream, 1, &back));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_fetch(tensor, layout, to, 3, 123456789, 0, NULL));
  OK(aqua_offload(layout, NULL, 0, tensor, stream, 0, NULL)); /* moves nothing */
  OK(aqua_ticket_free(out));
  FAILS(AQUA_NOT_FOUND, aqua_ticket_done(out, &done));
  OK(aqua_ticket_free(back));

  /* A ticket may outlive layout, tensor and (see its caller) runtime. */
  OK(aqua_offload(layout, from, 3, tensor, stream, 0, &back));
  OK(aqua_layout_free(layout));
  OK(aqua_tensor_free(tensor));
  OK(aqua_emulated_synchronize(runtime, stream));
  OK(aqua_ticket_wait(back));
  OK(aqua_ticket_free(back));
  OK(aqua_emulated_free(memory));
  FAILS(AQUA_NOT_FOUND, aqua_emulated_free(memory));
}

/* A step adds a token: it goes to its page and nothing else does; and a range is packed by tokens.
 */
static void test_ranges(aqua_runtime runtime, aqua_stream stream) {
  enum { kTokens = 4, kHeads = 2, kHead = 8, kToken = kHeads * kHead, kBlock = kTokens * kToken };
  unsigned char cache[kBlocks * kBlock], kept[2 * kBlock], packed[kToken];
  aqua_emulated_memory memory;
  void* base = NULL;
  OK(aqua_emulated_allocate(runtime, sizeof cache, &memory, &base));
  for (size_t i = 0; i < sizeof cache; ++i) cache[i] = (unsigned char)(1 + i % 251);
  OK(aqua_emulated_write(runtime, stream, base, cache, sizeof cache));
  aqua_layout_spec spec = AQUA_LAYOUT_SPEC_INIT;
  spec.layers = spec.planes_per_layer = 1;
  spec.planes = &base;
  spec.plane_count = 1;
  spec.block_count = kBlocks;
  spec.block_stride = kBlock;
  spec.tokens_per_block = kTokens;
  spec.heads = kHeads;
  spec.token_stride = kHead; /* [head][token] */
  spec.head_stride = kTokens * kHead;
  spec.run_bytes = kHead;
  aqua_layout layout;
  OK(aqua_layout_create(&spec, &layout));
  aqua_tensor_options options = AQUA_TENSOR_OPTIONS_INIT;
  options.bytes = sizeof kept;
  aqua_tensor tensor;
  OK(aqua_tensor_allocate(runtime, &options, &tensor));

  const uint32_t blocks[2] = {9, 3};
  const uint32_t places[2] = {1, 0};
  aqua_tensor_pages pages = AQUA_TENSOR_PAGES_INIT;
  pages.count = 2;
  pages.pages = places;
  aqua_kv_range step = AQUA_KV_RANGE_INIT;
  step.first_token = 6; /* the third of block 3 */
  step.token_count = 1;
  aqua_pin pin;
  void* data = NULL;
  aqua_ticket ticket;
  size_t bytes = 0;
  memset(kept, 0, sizeof kept);
  OK(aqua_tensor_pin(tensor, AQUA_ACCESS_WRITE, stream, 0, AQUA_WHOLE_TENSOR, &pin, &data));
  OK(aqua_emulated_write(runtime, stream, data, kept, sizeof kept));
  OK(aqua_pin_release_on(pin, stream));
  OK(aqua_offload_pages(layout, blocks, 2, &step, tensor, &pages, stream, &ticket));
  OK(aqua_ticket_wait(ticket));
  OK(aqua_ticket_get_bytes(ticket, &bytes));
  CHECK(bytes == kToken);
  OK(aqua_ticket_free(ticket));
  OK(aqua_tensor_pin(tensor, AQUA_ACCESS_READ, stream, 0, AQUA_WHOLE_TENSOR, &pin, &data));
  OK(aqua_emulated_read(runtime, stream, data, kept, sizeof kept));
  OK(aqua_pin_release_on(pin, stream));
  OK(aqua_emulated_synchronize(runtime, stream));
  for (size_t i = 0; i < sizeof kept; ++i) {
    const size_t within = i % kBlock; /* of page 0, where block 3 is kept */
    const int moved = i < kBlock && within % (kTokens * kHead) / kHead == 2;
    CHECK(kept[i] == (moved ? cache[3 * kBlock + within] : 0));
  }

  OK(aqua_offload_range(layout, blocks, 2, &step, tensor, stream, 0, NULL));
  OK(aqua_tensor_pin(tensor, AQUA_ACCESS_READ, stream, 0, AQUA_WHOLE_TENSOR, &pin, &data));
  OK(aqua_emulated_read(runtime, stream, data, packed, sizeof packed));
  OK(aqua_pin_release_on(pin, stream));
  OK(aqua_emulated_synchronize(runtime, stream));
  for (size_t h = 0; h < kHeads; ++h) {
    CHECK(memcmp(packed + h * kHead, cache + 3 * kBlock + h * kTokens * kHead + 2 * kHead, kHead) ==
          0);
  }
  step.first_token = 1; /* to where block 9 has its second one */
  OK(aqua_fetch_range(tensor, layout, blocks, 2, &step, stream, 0, NULL));
  OK(aqua_emulated_read(runtime, stream, (char*)base + 9 * kBlock + kHead, packed, kHead));
  OK(aqua_emulated_synchronize(runtime, stream));
  CHECK(memcmp(packed, cache + 3 * kBlock + 2 * kHead, kHead) == 0);
  step.first_token = 6;
  OK(aqua_fetch_pages(tensor, &pages, layout, blocks, 2, NULL, stream, NULL));

  step.token_count = 3;
  FAILS(AQUA_INVALID_ARGUMENT,
        aqua_offload_range(layout, blocks, 2, &step, tensor, stream, 0, NULL));
  FAILS(AQUA_INVALID_ARGUMENT,
        aqua_offload_range(layout, blocks, 2, NULL, tensor, stream, 0, NULL));
  FAILS(AQUA_INVALID_ARGUMENT,
        aqua_offload_pages(layout, blocks, 2, &step, tensor, &pages, stream, NULL));
  FAILS(AQUA_INVALID_ARGUMENT,
        aqua_offload_pages(layout, blocks, 2, NULL, tensor, NULL, stream, NULL));
  pages.pages = NULL;
  FAILS(AQUA_INVALID_ARGUMENT,
        aqua_fetch_pages(tensor, &pages, layout, blocks, 2, NULL, stream, NULL));
  OK(aqua_emulated_synchronize(runtime, stream));
  OK(aqua_layout_free(layout));
  OK(aqua_tensor_free(tensor));
  OK(aqua_emulated_free(memory));
}

/* A ticket whose runtime is closed: its transfer is over. */
static void test_late_ticket(aqua_runtime runtime, aqua_ticket* ticket) {
  aqua_emulated_memory memory;
  void* base = NULL;
  OK(aqua_emulated_allocate(runtime, 2 * MIB, &memory, &base));
  aqua_paged_shape shape = AQUA_PAGED_SHAPE_INIT;
  shape.layers = 1;
  shape.block_count = 4;
  shape.tokens_per_block = 1;
  shape.element_bytes = 1;
  aqua_layout layout;
  OK(aqua_layout_create_mla(&shape, 4096, &base, &layout));
  aqua_tensor_options options = AQUA_TENSOR_OPTIONS_INIT;
  options.bytes = 4096;
  aqua_tensor tensor;
  OK(aqua_tensor_allocate(runtime, &options, &tensor));
  const uint32_t block = 2;
  OK(aqua_fetch(tensor, layout, &block, 1, 0, 0, ticket));
  OK(aqua_emulated_synchronize(runtime, 0));
  OK(aqua_tensor_free(tensor));
  OK(aqua_layout_free(layout));
  OK(aqua_emulated_free(memory));
}

void test_tensors_and_transfers(const char* directory) {
  for (uint32_t hostile = 0; hostile < 2; ++hostile) {
    const aqua_runtime runtime = open_alone(directory, hostile);
    aqua_stream stream = 0;
    OK(aqua_emulated_stream_create(runtime, &stream));
    test_tensors(runtime, stream);
    test_round_trip(runtime, stream);
    test_ranges(runtime, stream);
    OK(aqua_emulated_stream_destroy(runtime, stream));
    FAILS(AQUA_INVALID_ARGUMENT, aqua_emulated_stream_destroy(runtime, stream));
    aqua_ticket late;
    test_late_ticket(runtime, &late);
    OK(aqua_runtime_close(runtime));
    FAILS(AQUA_NOT_FOUND, aqua_runtime_close(runtime));
    FAILS(AQUA_NOT_FOUND, aqua_runtime_tick(runtime));
    int done = 0;
    OK(aqua_ticket_done(late, &done));
    CHECK(done == 1);
    OK(aqua_ticket_wait(late));
    OK(aqua_ticket_cancel(late));
    OK(aqua_ticket_free(late));
  }
}
