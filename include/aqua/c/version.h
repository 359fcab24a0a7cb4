/* SPDX-License-Identifier: Apache-2.0 */
/* Which library this is and what it can do. */
#ifndef AQUA_C_VERSION_H
#define AQUA_C_VERSION_H

#include "aqua/c/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers. Compare it with aqua_version(), that of the library that is loaded.
 */
#define AQUA_VERSION_MAJOR 0
#define AQUA_VERSION_MINOR 1
#define AQUA_VERSION_PATCH 0
#define AQUA_VERSION_NUMBER \
  (AQUA_VERSION_MAJOR * 1000000u + AQUA_VERSION_MINOR * 1000u + AQUA_VERSION_PATCH)

/* major * 1000000 + minor * 1000 + patch. */
AQUA_API uint32_t aqua_version(void);
/* "0.1.0". */
AQUA_API const char* aqua_version_string(void);
/* 1 when this build has it, 0 when not, when it is not known or NULL. Known: "cuda" (devices
 * cuda:N), "emulated" (devices emu:N). Whether the machine has such a device is told by
 * aqua_runtime_open(). */
AQUA_API int aqua_has_feature(const char* name);

#ifdef __cplusplus
}
#endif

#endif
