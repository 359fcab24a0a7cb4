/* SPDX-License-Identifier: Apache-2.0 */
/* What the C tests share: a failed check says where and ends the program. */
#ifndef AQUA_TESTS_CAPI_CHECK_H
#define AQUA_TESTS_CAPI_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aqua/aqua.h"

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

/* The call succeeds. */
#define OK(call) check_ok((call), __FILE__, __LINE__)
/* The call fails with this code, and its message says something. */
#define FAILS(code, call) check_fails((code), (call), __FILE__, __LINE__)

static inline void check_ok(aqua_error* error, const char* file, int line) {
  if (error == NULL) return;
  fprintf(stderr, "%s:%d: %s: %s\n", file, line, aqua_code_name(aqua_error_code(error)),
          aqua_error_message(error));
  exit(1);
}

static inline void check_fails(aqua_code code, aqua_error* error, const char* file, int line) {
  if (aqua_error_code(error) != code || strlen(aqua_error_message(error)) < 8) {
    fprintf(stderr, "%s:%d: %s expected, got %s: %s\n", file, line, aqua_code_name(code),
            aqua_code_name(aqua_error_code(error)), aqua_error_message(error));
    exit(1);
  }
  aqua_error_free(error);
}

#endif
