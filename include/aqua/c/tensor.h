/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: elastic handles to N bytes, which live in a neighbour's lent memory while it can
 * spare it and in host DRAM otherwise. A pin holds their address still. */
#ifndef AQUA_C_TENSOR_H
#define AQUA_C_TENSOR_H

#include "aqua/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aqua_tensor_options {
  size_t struct_size;
  size_t bytes;         /* at least 1 */
  const char* name;     /* for people; need not be unique */
  uint32_t discardable; /* no exit reserved: may be dropped (data_loss) when memory is reclaimed */
  uint32_t host_only;   /* keep to the host tier */
  uint32_t off_device;  /* never in this device's own memory (local_bytes) */
} aqua_tensor_options;
#define AQUA_TENSOR_OPTIONS_INIT \
  { sizeof(aqua_tensor_options), 0, NULL, 0, 0, 0 }

typedef struct aqua_tensor_info {
  size_t struct_size;
  uint64_t tensor_id; /* unique in its runtime; for logs and callbacks */
  size_t bytes;
  aqua_tier tier; /* may be out of date, unless pinned */
  uint32_t lost;  /* 1: the bytes are gone */
  char name[AQUA_NAME_BYTES];
} aqua_tensor_info;
#define AQUA_TENSOR_INFO_INIT               \
  {                                         \
    sizeof(aqua_tensor_info), 0, 0, 0, 0, { \
      0                                     \
    }                                       \
  }

typedef uint32_t aqua_access;
enum {
  AQUA_ACCESS_READ = 0, /* never waits for a migration */
  AQUA_ACCESS_WRITE = 1 /* may wait for one that is about to end; marks the range as changed */
};
#define AQUA_WHOLE_TENSOR SIZE_MAX

typedef struct aqua_pin_info {
  size_t struct_size;
  void* data; /* device address; a host thread must not follow it */
  size_t bytes;
  aqua_tier tier; /* of the pinned place */
} aqua_pin_info;
#define AQUA_PIN_INFO_INIT \
  { sizeof(aqua_pin_info), NULL, 0, 0 }

/* Well under a microsecond of local work. resource_exhausted says what is free where. */
AQUA_CALL aqua_error* aqua_tensor_allocate(aqua_runtime runtime, const aqua_tensor_options* options,
                                           aqua_tensor* tensor);
/* Its memory goes once pins and work in flight on it are over, without waiting for them. */
AQUA_CALL aqua_error* aqua_tensor_free(aqua_tensor tensor);
AQUA_CALL aqua_error* aqua_tensor_get_tier(aqua_tensor tensor, aqua_tier* tier);
AQUA_CALL aqua_error* aqua_tensor_get_info(aqua_tensor tensor, aqua_tensor_info* info);

/* Holds [offset, offset + bytes) where it is; AQUA_WHOLE_TENSOR: from offset to the end. `stream`
 * will wait for earlier writes of other streams (a write also for reads). Keep pins short: a
 * reclaim waits for them, up to its deadline. `data`, which may be NULL, gets the device address.
 *   invalid_argument  the range is empty or not inside the tensor, or no such access
 *   data_loss         the bytes are gone: free the tensor and recompute
 *   unavailable       a write pin waited too long for readers of the old place */
AQUA_CALL aqua_error* aqua_tensor_pin(aqua_tensor tensor, aqua_access access, aqua_stream stream,
                                      size_t offset, size_t bytes, aqua_pin* pin, void** data);
AQUA_CALL aqua_error* aqua_pin_get_info(aqua_pin pin, aqua_pin_info* info);
/* Ends the pin. The work posted so far to its stream, or to `last_use`, was the last use. */
AQUA_CALL aqua_error* aqua_pin_release(aqua_pin pin);
AQUA_CALL aqua_error* aqua_pin_release_on(aqua_pin pin, aqua_stream last_use);

#ifdef __cplusplus
}
#endif

#endif
