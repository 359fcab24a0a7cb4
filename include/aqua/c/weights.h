/* SPDX-License-Identifier: Apache-2.0 */
/* Shared weights: a model's weights as a keeper has them, once in a device's memory and mapped to
 * be read by every engine there (aqua/sharing/shared_weights.hpp); and how an engine publishes its
 * own (aqua/sharing/weights_publisher.hpp). Nothing is ever read from a disk here.
 *
 * Threads: calls on one object are made one after another, each waiting for the one before.
 * Memory:  attach, suspend, resume, publish and commit speak to the keeper, and end the process
 * where that finds no memory for a few kilobytes. */
#ifndef AQUA_C_WEIGHTS_H
#define AQUA_C_WEIGHTS_H

#include "aqua/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aqua_weights_options {
  size_t struct_size;
  const char* model;
  const char* version; /* NULL: the newest that is there with all of its shards */
  uint32_t shard;      /* of tensor-parallel engines */
  uint32_t shards;
  const char* keeper; /* its socket; NULL: $AQUA_KEEPER, else where aqua-keeper puts it */
  /* attach waits so long while another process is publishing this shard on this device, and where
   * this shard is there until the others are; not for a shard that nobody has begun to publish. */
  uint32_t patience_ms;
} aqua_weights_options;
#define AQUA_WEIGHTS_OPTIONS_INIT \
  { sizeof(aqua_weights_options), NULL, NULL, 0, 1, NULL, 0 }

typedef struct aqua_weights_info {
  size_t struct_size;
  uint64_t tensors;
  uint64_t bytes;        /* mapped, or reserved while suspended */
  const char* version;   /* valid until the weights are freed or resumed */
  uint32_t enforced;     /* 1: the kernel refuses each write; 0: by convention alone (CUDA) */
  uint32_t is_suspended; /* 1: addresses fault */
} aqua_weights_info;
#define AQUA_WEIGHTS_INFO_INIT \
  { sizeof(aqua_weights_info), 0, 0, NULL, 0, 0 }

#define AQUA_WEIGHT_AXES 8

/* Axes: outermost first. Pointers are valid until the weights are freed or resumed. */
typedef struct aqua_weight_tensor {
  size_t struct_size;
  const void* address; /* device address of its first byte, to be read */
  uint64_t bytes;      /* from the first to behind the last */
  const char* name;
  const char* type;        /* as in safetensors ("BF16") or ggml ("Q4_0") */
  uint32_t block_elements; /* that are stored together ... */
  uint32_t block_bytes;    /* ... in so many bytes */
  uint32_t axes;
  uint64_t shape[AQUA_WEIGHT_AXES];   /* elements */
  uint64_t strides[AQUA_WEIGHT_AXES]; /* bytes; of the last axis, from block to block */
} aqua_weight_tensor;
#define AQUA_WEIGHT_TENSOR_INIT                                      \
  {                                                                  \
    sizeof(aqua_weight_tensor), NULL, 0, NULL, NULL, 0, 0, 0, {0}, { \
      0                                                              \
    }                                                                \
  }

/* Asks the keeper and maps what it has; blocks for both.
 *   unavailable          no keeper listens, or it does not answer
 *   permission_denied    the keeper is another user's
 *   not_found            it has no such model or version, or lacks shards of it: publish it, and
 *                        where that is already_exists, attach again with patience
 *   deadline_exceeded    it lacks shards, or is still being published
 *   failed_precondition  it has none on this runtime's device
 *   invalid_argument     another number of shards; or the keeper's answer cannot be */
AQUA_CALL aqua_error* aqua_weights_attach(aqua_runtime runtime, const aqua_weights_options* options,
                                          aqua_weights* weights);
/* Unmaps; no work may be in flight on the weights. */
AQUA_CALL aqua_error* aqua_weights_free(aqua_weights weights);
AQUA_CALL aqua_error* aqua_weights_get_info(aqua_weights weights, aqua_weights_info* info);
/* By number, from 0. invalid_argument: there are fewer. */
AQUA_CALL aqua_error* aqua_weights_get_tensor(aqua_weights weights, uint64_t number,
                                              aqua_weight_tensor* tensor);
/* not_found: there is none of this name. */
AQUA_CALL aqua_error* aqua_weights_find(aqua_weights weights, const char* name,
                                        aqua_weight_tensor* tensor);
/* Reads every tensor and compares its digest; blocks. data_loss names the first that differs. */
AQUA_CALL aqua_error* aqua_weights_verify(aqua_weights weights);
/* Unmaps the weights and lets go of them; the addresses stay reserved. The caller has seen all work
 * on them complete. After an error they count as suspended: call it again, or resume. */
AQUA_CALL aqua_error* aqua_weights_suspend(aqua_weights weights);
/* Maps them at the same addresses: the version of the options or, without one, the newest by now.
 * Errors: those of attach, and failed_precondition where that is laid out in another way. */
AQUA_CALL aqua_error* aqua_weights_resume(aqua_weights weights);

/* A tensor to publish. Part of arrays: never changes. */
typedef struct aqua_weight_spec {
  const char* name;
  const char* type;
  uint32_t block_elements;
  uint32_t block_bytes;
  uint32_t axes;
  uint64_t shape[AQUA_WEIGHT_AXES];
} aqua_weight_spec;

/* Takes memory of the device for these tensors, without gaps in each. The version must be named;
 * patience is not looked at.
 *   already_exists       this shard of this version is there on this device, or being published
 *   failed_precondition  the version is superseded
 *   invalid_argument     tensors that cannot be, or no version
 *   resource_exhausted   the device has less memory
 *   unavailable, permission_denied  as aqua_weights_attach() */
AQUA_CALL aqua_error* aqua_weights_publish(aqua_runtime runtime,
                                           const aqua_weights_options* options,
                                           const aqua_weight_spec* tensors, size_t count,
                                           aqua_weights_publisher* publisher);
/* Copies `bytes` to byte `offset` of the `number`-th tensor, from host memory or this device's;
 * blocks. invalid_argument: beyond the tensor, or no such tensor.
 * The bytes are read at once, by the library's own stream: work that still writes them is over.
 * What is not written keeps what the memory held. */
AQUA_CALL aqua_error* aqua_weights_publisher_write(aqua_weights_publisher publisher,
                                                   uint64_t number, uint64_t offset,
                                                   const void* from, uint64_t bytes);
/* Seals the memory, digests each tensor and hands all to the keeper; blocks. Free it then.
 *   failed_precondition  a forked child has it mapped: again once that has ended; or the version
 *                        was superseded meanwhile
 *   unavailable          the keeper went: publish anew */
AQUA_CALL aqua_error* aqua_weights_publisher_commit(aqua_weights_publisher publisher);
/* What was not committed is gone. */
AQUA_CALL aqua_error* aqua_weights_publisher_free(aqua_weights_publisher publisher);

#ifdef __cplusplus
}
#endif

#endif
