// SPDX-License-Identifier: Apache-2.0
#include "aqua/c/version.h"

#include <string_view>

// The headers' numbers against the build's: a release that forgets one does not compile.
#define AQUA_TEXT_INNER(x) #x
#define AQUA_TEXT(x) AQUA_TEXT_INNER(x)
#define AQUA_HEADERS_VERSION    \
  AQUA_TEXT(AQUA_VERSION_MAJOR) \
  "." AQUA_TEXT(AQUA_VERSION_MINOR) "." AQUA_TEXT(AQUA_VERSION_PATCH)
static_assert(std::string_view(AQUA_HEADERS_VERSION) == AQUA_BUILD_VERSION,
              "aqua/c/version.h and CMakeLists.txt name different versions");

extern "C" {

uint32_t aqua_version(void) {
  return AQUA_VERSION_NUMBER;
}
const char* aqua_version_string(void) {
  return AQUA_BUILD_VERSION;
}
int aqua_has_feature(const char* name) {
  if (name == nullptr) return 0;
  const std::string_view feature = name;
  if (feature == "emulated") return 1;
  if (feature == "cuda") return AQUA_BUILD_CUDA;
  return 0;
}

}  // extern "C"
