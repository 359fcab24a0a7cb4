/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of call_cost.py, made `count` times from C: what is left when Python is taken away.
 * Compiled by call_cost.py. Each returns 0, or 1 when a call failed. */
#include "aqua/aqua.h"

#define FAILED(call)                  \
  do {                                \
    aqua_error* const error = (call); \
    if (error != NULL) {              \
      aqua_error_free(error);         \
      return 1;                       \
    }                                 \
  } while (0)

int tier(aqua_tensor tensor, long count) {
  for (long i = 0; i < count; ++i) {
    aqua_tier tier;
    FAILED(aqua_tensor_get_tier(tensor, &tier));
  }
  return 0;
}

int tick(aqua_runtime runtime, long count) {
  for (long i = 0; i < count; ++i) FAILED(aqua_runtime_tick(runtime));
  return 0;
}

int ticket_done(aqua_ticket ticket, long count) {
  for (long i = 0; i < count; ++i) {
    int done;
    FAILED(aqua_ticket_done(ticket, &done));
  }
  return 0;
}

int pin_and_release(aqua_tensor tensor, long count) {
  for (long i = 0; i < count; ++i) {
    aqua_pin pin;
    FAILED(aqua_tensor_pin(tensor, AQUA_ACCESS_READ, 0, 0, AQUA_WHOLE_TENSOR, &pin, NULL));
    FAILED(aqua_pin_release(pin));
  }
  return 0;
}

int allocate_and_free(aqua_runtime runtime, long count) {
  aqua_tensor_options options = AQUA_TENSOR_OPTIONS_INIT;
  options.bytes = 4096;
  for (long i = 0; i < count; ++i) {
    aqua_tensor tensor;
    FAILED(aqua_tensor_allocate(runtime, &options, &tensor));
    FAILED(aqua_tensor_free(tensor));
  }
  return 0;
}

int offload(aqua_layout layout, const uint32_t* blocks, size_t block_count, aqua_tensor tensor,
            long count) {
  for (long i = 0; i < count; ++i) {
    aqua_ticket ticket;
    FAILED(aqua_offload(layout, blocks, block_count, tensor, 0, 0, &ticket));
    FAILED(aqua_ticket_free(ticket));
  }
  return 0;
}

int fetch(aqua_layout layout, const uint32_t* blocks, size_t block_count, aqua_tensor tensor,
          long count) {
  for (long i = 0; i < count; ++i) {
    aqua_ticket ticket;
    FAILED(aqua_fetch(tensor, layout, blocks, block_count, 0, 0, &ticket));
    FAILED(aqua_ticket_free(ticket));
  }
  return 0;
}
