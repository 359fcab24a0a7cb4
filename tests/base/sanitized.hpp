// SPDX-License-Identifier: Apache-2.0
// AQUA_SANITIZED is defined where AddressSanitizer or ThreadSanitizer watches the test: gcc says so
// by macros, clang by features.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define AQUA_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define AQUA_SANITIZED 1
#endif
#endif
