/* SPDX-License-Identifier: Apache-2.0 */
/* Error objects: what went wrong, chosen by what the caller does next. */
#ifndef AQUA_C_ERROR_H
#define AQUA_C_ERROR_H

#include "aqua/c/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t aqua_code;
enum {
  AQUA_OK = 0,
  AQUA_INVALID_ARGUMENT = 1,    /* the call is wrong; mend it */
  AQUA_NOT_FOUND = 2,           /* no such object (any more) */
  AQUA_ALREADY_EXISTS = 3,      /* done before, or the name is taken */
  AQUA_FAILED_PRECONDITION = 4, /* something else must change first */
  AQUA_PERMISSION_DENIED = 5,   /* not yours, or a secret did not match */
  AQUA_RESOURCE_EXHAUSTED = 6,  /* no space, over a limit; free something */
  AQUA_UNAVAILABLE = 7,         /* the other side is away; repeat this call later */
  AQUA_ABORTED = 8,             /* overtaken; start the whole step again */
  AQUA_DEADLINE_EXCEEDED = 9,   /* the message says what is done so far */
  AQUA_CANCELLED = 10,          /* the caller asked for it */
  AQUA_DATA_LOSS = 11,          /* the bytes are gone; recompute them */
  AQUA_UNIMPLEMENTED = 12,      /* this build or device cannot */
  AQUA_INTERNAL = 13            /* a bug of ours, or a driver error with no better name */
};

/* Owned by the caller. Never changes; may be read by several threads. */
typedef struct aqua_error aqua_error;

/* AQUA_OK for NULL. */
AQUA_API aqua_code aqua_error_code(const aqua_error* error);
/* Names the operation and the values. Lives as long as the error; "" for NULL. */
AQUA_API const char* aqua_error_message(const aqua_error* error);
/* NULL is allowed. */
AQUA_API void aqua_error_free(aqua_error* error);
/* "not_found"; "unknown" for a number that is no code. Never NULL. */
AQUA_API const char* aqua_code_name(aqua_code code);

#ifdef __cplusplus
}
#endif

#endif
