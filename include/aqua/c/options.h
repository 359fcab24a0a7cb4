/* SPDX-License-Identifier: Apache-2.0 */
/* How a runtime is opened: options and callbacks. */
#ifndef AQUA_C_OPTIONS_H
#define AQUA_C_OPTIONS_H

#include "aqua/c/northbound.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an emulated GPU ("emu:N") behaves. Ignored for other devices. */
typedef struct aqua_emulated_gpu {
  size_t struct_size;
  size_t total_bytes;             /* 0: 1 GiB */
  uint64_t seed;                  /* of the delays of a hostile one [1] */
  uint64_t link_bytes_per_second; /* to host memory; 0: as fast as the host copies */
  uint64_t peer_bytes_per_second; /* to lent memory; 0: link_bytes_per_second */
  uint32_t hostile;               /* for tests: seeded delays, closed memory, slow remapping */
  uint32_t calibrate;             /* not 0: measure copy times as on a GPU; else built-in ones */
} aqua_emulated_gpu;
#define AQUA_EMULATED_GPU_INIT \
  { sizeof(aqua_emulated_gpu), 0, 1, 0, 0, 0, 0 }

/* A tensor whose pins are in the way of a reclaim. */
typedef struct aqua_pinned_tensor {
  size_t struct_size;
  uint64_t tensor_id; /* as in aqua_tensor_info */
  const char* name;   /* gone when the callback returns */
  uint64_t age_ms;    /* of the oldest pin, at most */
  uint32_t read_pins;
  uint32_t write_pins;
} aqua_pinned_tensor;

typedef uint32_t aqua_log_level;
enum { AQUA_LOG_INFO = 0, AQUA_LOG_WARNING = 1, AQUA_LOG_ERROR = 2 };

/* Called one at a time, on a thread of the runtime's, or from aqua_runtime_tick() where the
 * options say so; on_log from any thread. They may make any call but aqua_runtime_close(),
 * which they are refused. What they are given is gone when they return. Any may be NULL. */
typedef struct aqua_callbacks {
  size_t struct_size;
  void* user; /* given to each; lives until the runtime is closed */
  /* The engine's share of memory has changed, or (AQUA_BUDGET_WANTED) is to change: see
   * aqua_budget_reason. */
  void (*on_budget)(void* user, const aqua_memory_budget* budget);
  /* A tensor's bytes are gone: recompute. */
  void (*on_data_loss)(void* user, uint64_t tensor_id, const char* name);
  /* A lender wants a slab back within ms_left; these tensors' pins are in the way. */
  void (*on_pins_wanted)(void* user, const aqua_pinned_tensor* const* tensors, size_t count,
                         uint64_t ms_left);
  /* Without it, warnings and errors go to stderr. */
  void (*on_log)(void* user, aqua_log_level level, const char* message);
} aqua_callbacks;
#define AQUA_CALLBACKS_INIT \
  { sizeof(aqua_callbacks), NULL, NULL, NULL, NULL, NULL }

typedef struct aqua_runtime_options {
  size_t struct_size;
  const char* device;              /* "cuda:N" (as this process counts its GPUs), "GPU-UUID" (as
                                      nvidia-smi -L prints it) or "emu:N" (emulated, for tests).
                                      Empty: $AQUA_DEVICE, which must then be set */
  const char* coordinator;         /* "unix:PATH", "HOST:PORT" or "none"; empty: $AQUA_COORDINATOR,
                                      else "none" */
  const char* name;                /* for people; empty: the program's name */
  const char* domain;              /* NVLink domain; empty: the server's only one */
  const char* socket_directory;    /* empty: $XDG_RUNTIME_DIR/aqua, else /tmp/aqua-UID */
  size_t host_bytes;               /* host tier, taken and touched when opening. 0: 256 MiB */
  size_t max_peer_bytes;           /* the most to borrow; 0: nothing. Never more than host_bytes,
                                      in whole slabs of the lender's (64 MiB): with host_bytes
                                      below one slab nothing is ever borrowed */
  size_t local_bytes;              /* of this device's own memory, for tensors */
  size_t slab_bytes;               /* of what is lent; a multiple of 2 MiB. 0: 64 MiB */
  uint32_t reclaim_deadline_ms;    /* for reclaims that reports decide, at most a day. 0: 2000 */
  uint32_t callbacks_in_tick;      /* not 0: callbacks run in aqua_runtime_tick() */
  const aqua_callbacks* callbacks; /* copied; NULL: none */
  const aqua_emulated_gpu* emulated; /* copied; NULL: defaults */
  const char* curve_directory;       /* copy times measured on this machine; empty:
                                        $XDG_CACHE_HOME/aqua, else ~/.cache/aqua. "off": neither
                                        kept nor measured */
  const char* profile;               /* a file of `aqua profile`. A producer's is set as by
                                        aqua_runtime_set_profile(). From a consumer's, where
                                        max_peer_bytes is 0, max_peer_bytes is taken, and host_bytes
                                        is raised to as much. Empty: none */
} aqua_runtime_options;
#define AQUA_RUNTIME_OPTIONS_INIT                                                             \
  {                                                                                           \
    sizeof(aqua_runtime_options), NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL, \
        NULL, NULL                                                                            \
  }

#ifdef __cplusplus
}
#endif

#endif
