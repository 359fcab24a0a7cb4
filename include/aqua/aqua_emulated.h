/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in for the CUDA runtime on an emulated GPU ("emu:N"): device memory, streams,
 * kernels. For tests, and for bindings on machines without a GPU. Every call fails with
 * unimplemented when the runtime's device is not emulated. */
#ifndef AQUA_AQUA_EMULATED_H
#define AQUA_AQUA_EMULATED_H

#include "aqua/aqua.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aqua_emulated_memory {
  uint64_t id;
} aqua_emulated_memory;

/* Rounded up to 2 MiB. `address` gets the device address, which host threads must not follow.
 * resource_exhausted when the device has less free. */
AQUA_CALL aqua_error* aqua_emulated_allocate(aqua_runtime runtime, size_t bytes,
                                             aqua_emulated_memory* memory, void** address);
/* No work on it may be in flight. */
AQUA_CALL aqua_error* aqua_emulated_free(aqua_emulated_memory memory);

AQUA_CALL aqua_error* aqua_emulated_stream_create(aqua_runtime runtime, aqua_stream* stream);
/* Waits for its work. */
AQUA_CALL aqua_error* aqua_emulated_stream_destroy(aqua_runtime runtime, aqua_stream stream);
/* Blocks this host thread until the work posted to `stream` so far is done. */
AQUA_CALL aqua_error* aqua_emulated_synchronize(aqua_runtime runtime, aqua_stream stream);

/* Writes `bytes` host bytes to a device address, in stream order. They are copied before it
 * returns. The addresses are taken on trust, as by a kernel: memory of this device, or pinned. */
AQUA_CALL aqua_error* aqua_emulated_write(aqua_runtime runtime, aqua_stream stream, void* to_device,
                                          const void* from_host, size_t bytes);
/* Reads them, in stream order; `to_host` must stay until the stream has come so far. */
AQUA_CALL aqua_error* aqua_emulated_read(aqua_runtime runtime, aqua_stream stream,
                                         const void* from_device, void* to_host, size_t bytes);

/* Runs kernel(user) on the stream, in order. Inside it, and only there, aqua_emulated_view()
 * turns device addresses into ones that can be followed. */
AQUA_CALL aqua_error* aqua_emulated_launch(aqua_runtime runtime, aqua_stream stream,
                                           void (*kernel)(void* user), void* user);
AQUA_API void* aqua_emulated_view(void* device_address);

#ifdef __cplusplus
}
#endif

#endif
