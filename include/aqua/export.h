/* SPDX-License-Identifier: Apache-2.0 */
/* What the shared library shows. Everything else of it is hidden. For C and C++. */
#ifndef AQUA_EXPORT_H
#define AQUA_EXPORT_H

#if defined(__GNUC__)
#define AQUA_API __attribute__((visibility("default")))
#define AQUA_LOCAL __attribute__((visibility("hidden")))
#define AQUA_CALL AQUA_API __attribute__((warn_unused_result))
#else
#define AQUA_API
#define AQUA_LOCAL
#define AQUA_CALL
#endif

#endif
