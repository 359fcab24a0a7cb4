// SPDX-License-Identifier: Apache-2.0
#include "aqua/c/error.h"

#include <exception>
#include <new>

#include "base/concat.hpp"
#include "capi/call.hpp"
#include "capi/convert.hpp"

struct aqua_error {
  aqua::Error error;
};

namespace aqua::capi {
namespace {

// Made before it is needed, never destroyed: what reports that there is no memory needs none.
// Its message fits into the string itself.
aqua_error* const no_memory = new aqua_error{{Code::resource_exhausted, "out of memory"}};

}  // namespace

aqua_error* make_error(Error error) noexcept {
  auto* const made = new (std::nothrow) aqua_error{std::move(error)};
  return made != nullptr ? made : no_memory;
}
aqua_error* error_of_exception() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return no_memory;
    } catch (const std::exception& error) {
      return make_error({Code::internal, concat("exception: ", error.what())});
    } catch (...) {
      return make_error({Code::internal, "exception of an unknown kind"});
    }
  } catch (...) {  // no memory for the message
    return no_memory;
  }
}
Error null_argument(const char* what, const char* argument) {
  return {Code::invalid_argument, concat(what, ": ", argument, " is NULL")};
}

}  // namespace aqua::capi

extern "C" {

aqua_code aqua_error_code(const aqua_error* error) {
  if (error == nullptr) return AQUA_OK;
  return aqua::capi::to_c(error->error.code);
}
const char* aqua_error_message(const aqua_error* error) {
  return error != nullptr ? error->error.message.c_str() : "";
}
void aqua_error_free(aqua_error* error) {
  if (error != aqua::capi::no_memory) delete error;
}
const char* aqua_code_name(aqua_code code) {
  if (code == AQUA_OK) return "ok";
  if (code > AQUA_INTERNAL) return "unknown";
  return aqua::to_string(static_cast<aqua::Code>(code - 1)).data();  // of literals, so it ends
}

}  // extern "C"
