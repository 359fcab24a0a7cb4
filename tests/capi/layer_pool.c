/* SPDX-License-Identifier: Apache-2.0 */
/* Layer pools and block pools from C: steps, a sequence that is preempted, frames that change. */
#define _GNU_SOURCE
#include "aqua/aqua_emulated.h"
#include "tests/capi/check.h"
#include "tests/capi/parts.h"

enum { LAYERS = 4, BLOCK_BYTES = 1 << 20, BLOCKS = 8 };

/* What a kernel does in one layer: each of `count` blocks holds its stamp or is to hold it. */
struct kernel {
  void* plane;
  uint32_t layer;
  int writes;
  uint32_t blocks[BLOCKS];
  size_t count;
};
static size_t wrong; /* bytes; of the stream's thread, read when it is done */

static void run(void* user) {
  struct kernel* kernel = user;
  unsigned char* const base = aqua_emulated_view(kernel->plane);
  for (size_t i = 0; i < kernel->count; ++i) {
    unsigned char* const block = base + (size_t)kernel->blocks[i] * BLOCK_BYTES;
    const int stamp = (int)(16 * (kernel->layer + 1) + i);
    if (kernel->writes) memset(block, stamp, BLOCK_BYTES);
    for (size_t b = 0; b < BLOCK_BYTES; ++b) wrong += block[b] != stamp;
  }
  free(kernel);
}

/* One step in which every layer writes the blocks, or reads them. */
static uint64_t step(aqua_runtime runtime, aqua_layer_pool pool, aqua_stream stream, int writes,
                     const uint32_t* blocks, size_t count) {
  aqua_step_load load = AQUA_STEP_LOAD_INIT;
  uint64_t number = 0;
  OK(aqua_layer_pool_begin_step(pool, stream, writes ? NULL : blocks, writes ? 0 : count,
                                writes ? blocks : NULL, writes ? count : 0));
  for (uint32_t layer = 0; layer < LAYERS; ++layer) {
    struct kernel* kernel = calloc(1, sizeof *kernel);
    CHECK(kernel != NULL);
    OK(aqua_layer_pool_get_plane(pool, layer, 0, &kernel->plane));
    kernel->layer = layer;
    kernel->writes = writes;
    kernel->count = count;
    memcpy(kernel->blocks, blocks, count * sizeof *blocks);
    OK(aqua_layer_pool_begin_layer(pool, layer));
    OK(aqua_emulated_launch(runtime, stream, run, kernel));
    OK(aqua_layer_pool_end_layer(pool, layer));
  }
  OK(aqua_layer_pool_end_step(pool, &load, &number));
  OK(aqua_emulated_synchronize(runtime, stream));
  for (int done = 0; !done;) OK(aqua_layer_pool_step_done(pool, number, &done));
  return number;
}

struct engine {
  aqua_layer_pool pool;
  aqua_block_pool list;
  aqua_stream stream;
  aqua_tensor tensor;
  size_t preempted;
  uint32_t frames;
};

static void on_resize(void* user, const aqua_layer_pool_change* change) {
  struct engine* engine = user;
  for (size_t i = 0; i < change->preempt_count; ++i) {
    uint32_t blocks[BLOCKS];
    size_t count = 0;
    OK(aqua_block_pool_get_blocks(engine->list, change->preempt[i], blocks, BLOCKS, &count));
    OK(aqua_layer_pool_offload(engine->pool, blocks, count, engine->tensor, engine->stream, 0,
                               NULL));
    OK(aqua_block_pool_release(engine->list, change->preempt[i]));
    ++engine->preempted;
  }
  CHECK(change->moved_count == 0);
  if (change->done) engine->frames = change->frames;
}

static void frames_that_change(aqua_runtime runtime, struct engine* engine) {
  const aqua_layer_pool pool = engine->pool;
  uint32_t blocks[3], usable = 0, frames = 0;
  int done = 0;
  OK(aqua_layer_pool_usable_blocks(pool, &usable));
  CHECK(usable == 8);
  OK(aqua_block_pool_create(LAYERS, usable, &engine->list));
  uint32_t others[5];
  OK(aqua_block_pool_allocate(engine->list, 41, 5, others));
  OK(aqua_block_pool_allocate(engine->list, 42, 3, blocks));
  step(runtime, pool, engine->stream, 1, blocks, 3);
  OK(aqua_layer_pool_usable_blocks_with(pool, 4, &usable));
  CHECK(usable == 6);
  OK(aqua_layer_pool_resize_with(pool, 4, engine->list, engine->stream, &done));
  CHECK(done && engine->preempted == 1 && engine->frames == 4);
  OK(aqua_block_pool_release(engine->list, 41));
  OK(aqua_block_pool_allocate(engine->list, 42, 3, blocks));
  CHECK(blocks[0] == 0 && blocks[2] == 2);
  aqua_ticket back;
  OK(aqua_layer_pool_fetch(pool, engine->tensor, blocks, 3, engine->stream, 0, &back));
  OK(aqua_ticket_wait(back));
  OK(aqua_ticket_done(back, &done));
  CHECK(done);
  OK(aqua_ticket_free(back));
  step(runtime, pool, engine->stream, 0, blocks, 3);
  CHECK(wrong == 0);
  OK(aqua_layer_pool_propose(pool, &frames));
  CHECK(frames == 4);
  OK(aqua_layer_pool_adapt(pool, engine->list, engine->stream, &done));
  CHECK(done);
  OK(aqua_block_pool_free(engine->list));
}

static void a_list_by_itself(void) {
  aqua_block_pool list;
  uint32_t blocks[3];
  uint64_t preempt[2], holding[2];
  aqua_block_move moves[2];
  size_t count = 0;
  FAILS(AQUA_INVALID_ARGUMENT, aqua_block_pool_create(0, 4, &list));
  OK(aqua_block_pool_create(1, 4, &list));
  OK(aqua_block_pool_allocate(list, 1, 1, blocks));
  OK(aqua_block_pool_allocate(list, 2, 3, blocks));
  OK(aqua_block_pool_release(list, 1));
  OK(aqua_block_pool_get_sequences(list, holding, 2, &count));
  CHECK(count == 1 && holding[0] == 2);
  OK(aqua_block_pool_resize(list, 3, preempt, 2, &count));
  CHECK(count == 0);
  OK(aqua_block_pool_take_moves(list, moves, 2, &count));
  CHECK(count == 1 && moves[0].sequence == 2 && moves[0].from == 3 && moves[0].to == 0);
  OK(aqua_block_pool_moved(list, 3));
  OK(aqua_block_pool_layer_ready(list, 0));
  aqua_block_pool_info info = AQUA_BLOCK_POOL_INFO_INIT;
  OK(aqua_block_pool_get_info(list, &info));
  CHECK(info.usable_blocks == 3 && info.free_blocks == 0 && !info.resizing);
  FAILS(AQUA_RESOURCE_EXHAUSTED, aqua_block_pool_allocate(list, 3, 1, blocks));
  OK(aqua_block_pool_free(list));
  FAILS(AQUA_NOT_FOUND, aqua_block_pool_free(list));
}

void test_layer_pools(const char* directory) {
  a_list_by_itself();

  aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
  options.device = "emu:8";
  options.coordinator = "none";
  options.socket_directory = directory;
  options.host_bytes = 128 * MIB;
  aqua_runtime runtime;
  OK(aqua_runtime_open(&options, &runtime));
  struct engine engine = {{0}, {0}, 0, {0}, 0, 0};
  OK(aqua_emulated_stream_create(runtime, &engine.stream));
  aqua_layer_pool_options wanted = AQUA_LAYER_POOL_OPTIONS_INIT;
  wanted.layers = LAYERS;
  wanted.planes_per_layer = 1;
  wanted.block_bytes = BLOCK_BYTES;
  wanted.device_bytes = 24 * MIB;
  wanted.frames = 3;
  wanted.user = &engine;
  wanted.on_resize = on_resize;
  OK(aqua_layer_pool_create(runtime, &wanted, &engine.pool));
  aqua_tensor_options saved = AQUA_TENSOR_OPTIONS_INIT;
  OK(aqua_layer_pool_packed_bytes(engine.pool, 3, &saved.bytes));
  CHECK(saved.bytes == 3 * LAYERS * MIB);
  OK(aqua_tensor_allocate(runtime, &saved, &engine.tensor));

  frames_that_change(runtime, &engine);
  OK(aqua_layer_pool_resize(engine.pool, 3));
  OK(aqua_layer_pool_discard(engine.pool));
  aqua_layer_pool_status status = AQUA_LAYER_POOL_STATUS_INIT;
  OK(aqua_layer_pool_get_status(engine.pool, &status));
  CHECK(status.frames == 3 && status.usable_blocks == 8 && status.steps == 2);
  FAILS(AQUA_FAILED_PRECONDITION, aqua_runtime_close(runtime));

  OK(aqua_layer_pool_free(engine.pool));
  FAILS(AQUA_NOT_FOUND, aqua_layer_pool_free(engine.pool));
  OK(aqua_tensor_free(engine.tensor));
  OK(aqua_emulated_stream_destroy(runtime, engine.stream));
  OK(aqua_runtime_close(runtime));
}
