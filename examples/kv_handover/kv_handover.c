/* SPDX-License-Identifier: Apache-2.0 */
/* kv_handover: the KV cache of a request changes process, and no byte is copied. Over an emulated
 * GPU, with a keeper that runs; kv_handover.py does the same, and the two of them work together.
 *
 *   kv_handover prefill KEEPER REQUEST
 *
 * computes the KV of a prompt, a layer at a time, hands it over, and waits until somebody has it.
 *
 *   kv_handover decode KEEPER [hold]
 *
 * accepts what was handed over and compares every byte. With `hold` it waits for a line before it
 * confirms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aqua/aqua.h"
#include "aqua/aqua_emulated.h"

enum { LAYERS = 4, PLANES = 2, PLANE_BLOCK_BYTES = 2048, TOKENS_PER_BLOCK = 16, PROMPT_BLOCKS = 8 };

/* What an engine does with an error: look at the code, show the message, free it. */
static void check(aqua_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s: %s\n", aqua_code_name(aqua_error_code(error)), aqua_error_message(error));
  aqua_error_free(error);
  _Exit(1);
}

static aqua_runtime open_runtime(void) {
  aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
  options.device = "emu:0";
  options.coordinator = "none";
  options.host_bytes = (size_t)8 << 20;
  aqua_runtime runtime;
  check(aqua_runtime_open(&options, &runtime));
  return runtime;
}

static aqua_kv_pool join(aqua_runtime runtime, const char* keeper, const char* role) {
  aqua_kv_pool_shape shape = AQUA_KV_POOL_SHAPE_INIT;
  shape.layers = LAYERS;
  shape.planes_per_layer = PLANES;
  shape.plane_block_bytes = PLANE_BLOCK_BYTES;
  shape.tokens_per_block = TOKENS_PER_BLOCK;
  shape.blocks = 128;
  shape.format = "bytes of the example";
  aqua_kv_pool_options options = AQUA_KV_POOL_OPTIONS_INIT;
  options.name = "kv_handover";
  options.role = role;
  options.shape = &shape;
  options.slab_bytes = (size_t)2 << 20;
  options.keeper = keeper;
  options.reserve = 2 * PROMPT_BLOCKS;
  aqua_kv_pool pool;
  check(aqua_kv_pool_attach(runtime, &options, &pool));
  return pool;
}

/* Until there is news of the pool. */
static void await_news(aqua_kv_pool pool) {
  int news = 0;
  while (!news) {
    aqua_kv_pool_status status = AQUA_KV_POOL_STATUS_INIT;
    check(aqua_kv_pool_get_status(pool, &status));
    if (!status.connected) {
      fprintf(stderr, "the keeper is away: %s\n", status.error);
      _Exit(1);
    }
    check(aqua_kv_pool_wait(pool, 1000, &news));
  }
}

/* What stands in for a kernel: the bytes of a block, by its place in the prompt. */
static void compute(const char* request, unsigned layer, unsigned plane, size_t block,
                    unsigned char* bytes) {
  unsigned seed = layer * 7 + plane * 3 + (unsigned)block * 17;
  for (const char* c = request; *c != '\0'; ++c) seed += (unsigned char)*c;
  for (size_t i = 0; i < PLANE_BLOCK_BYTES; ++i) bytes[i] = (unsigned char)(seed + i * 31);
}

static char* address_of(aqua_kv_pool pool, unsigned layer, unsigned plane, uint32_t block) {
  void* base;
  check(aqua_kv_pool_get_plane(pool, layer, plane, &base));
  return (char*)base + (size_t)block * PLANE_BLOCK_BYTES;
}

/* --- prefill ---------------------------------------------------------------------------------- */

static void compute_layer(aqua_runtime runtime, aqua_kv_pool pool, const char* request,
                          unsigned layer, const uint32_t* blocks) {
  unsigned char bytes[PLANE_BLOCK_BYTES];
  for (unsigned plane = 0; plane < PLANES; ++plane) {
    for (size_t i = 0; i < PROMPT_BLOCKS; ++i) {
      compute(request, layer, plane, i, bytes);
      check(aqua_emulated_write(runtime, 0, address_of(pool, layer, plane, blocks[i]), bytes,
                                sizeof bytes));
    }
  }
}

static const aqua_delivery* await_delivery(aqua_kv_pool pool) {
  for (;;) {
    const aqua_delivery* const* deliveries;
    size_t count;
    check(aqua_kv_pool_deliveries(pool, &deliveries, &count));
    if (count > 0) return deliveries[0];
    await_news(pool);
  }
}

static int prefill(const char* keeper, const char* request) {
  const aqua_runtime runtime = open_runtime();
  const aqua_kv_pool pool = join(runtime, keeper, "prefill");
  uint64_t number;
  check(aqua_kv_pool_open(pool, request, 1, "decode", &number)); /* turn 1: nobody spoke before */
  uint32_t blocks[PROMPT_BLOCKS];
  check(aqua_kv_pool_allocate(pool, PROMPT_BLOCKS, blocks)); /* of its reserve */
  for (unsigned layer = 0; layer < LAYERS; ++layer) {
    compute_layer(runtime, pool, request, layer, blocks);
  }
  aqua_parcel parcel = AQUA_PARCEL_INIT;
  parcel.blocks = blocks;
  parcel.block_count = PROMPT_BLOCKS;
  parcel.tokens = PROMPT_BLOCKS * TOKENS_PER_BLOCK;
  parcel.note = "pending token 42";
  parcel.note_bytes = strlen(parcel.note);
  aqua_error* const ended = aqua_kv_pool_close(pool, number, &parcel, 0); /* behind the kernels */
  if (aqua_error_code(ended) == AQUA_NOT_FOUND) {
    aqua_error_free(ended); /* another speaks for the request: its delivery has come, and says so */
  } else {
    check(ended);
    printf("%s: handed over in %d blocks\n", request, PROMPT_BLOCKS);
    fflush(stdout);
  }

  const aqua_delivery* const delivery = await_delivery(pool);
  const int confirmed = delivery->outcome == AQUA_DELIVERY_CONFIRMED;
  printf("%s: %s\n", request, confirmed ? "confirmed" : delivery->message);
  check(aqua_kv_pool_free(pool));
  check(aqua_runtime_close(runtime));
  return confirmed ? 0 : 1;
}

/* --- decode ----------------------------------------------------------------------------------- */

static const aqua_parcel* await_parcel(aqua_kv_pool pool) {
  for (;;) {
    const aqua_parcel* const* parcels;
    size_t count;
    check(aqua_kv_pool_accept(pool, 1, &parcels, &count));
    if (count > 0) return parcels[0];
    await_news(pool);
  }
}

static size_t wrong_bytes(aqua_runtime runtime, aqua_kv_pool pool, const aqua_parcel* parcel) {
  unsigned char expected[PLANE_BLOCK_BYTES];
  unsigned char bytes[PLANE_BLOCK_BYTES];
  size_t wrong = 0;
  for (unsigned layer = 0; layer < LAYERS; ++layer) {
    for (unsigned plane = 0; plane < PLANES; ++plane) {
      for (size_t i = 0; i < parcel->block_count; ++i) {
        compute(parcel->id, layer, plane, i, expected);
        check(aqua_emulated_read(runtime, 0, address_of(pool, layer, plane, parcel->blocks[i]),
                                 bytes, sizeof bytes));
        check(aqua_emulated_synchronize(runtime, 0));
        for (size_t at = 0; at < sizeof bytes; ++at) wrong += bytes[at] != expected[at];
      }
    }
  }
  return wrong;
}

static int decode(const char* keeper, int hold) {
  const aqua_runtime runtime = open_runtime();
  const aqua_kv_pool pool = join(runtime, keeper, "decode");
  const aqua_parcel* const parcel = await_parcel(pool); /* the pool's, until the next accept */
  printf("%s: accepted under turn %llu, %u tokens, %.*s\n", parcel->id,
         (unsigned long long)parcel->turn, parcel->tokens, (int)parcel->note_bytes,
         (const char*)parcel->note);
  const size_t wrong = wrong_bytes(runtime, pool, parcel);
  printf("%s: %zu bytes are wrong\n", parcel->id, wrong);
  fflush(stdout);
  if (hold) (void)getchar();
  check(aqua_kv_pool_confirm(pool, parcel->number)); /* its giver is told */
  check(aqua_kv_pool_finish(pool, parcel->number, 0));
  printf("%s: finished\n", parcel->id);
  check(aqua_kv_pool_free(pool));
  check(aqua_runtime_close(runtime));
  return wrong == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "prefill") == 0) return prefill(argv[2], argv[3]);
  const int hold = argc == 4 && strcmp(argv[3], "hold") == 0;
  if ((argc == 3 || hold) && strcmp(argv[1], "decode") == 0) return decode(argv[2], hold);
  fprintf(stderr, "usage: kv_handover prefill KEEPER REQUEST | decode KEEPER [hold]\n");
  return 2;
}
