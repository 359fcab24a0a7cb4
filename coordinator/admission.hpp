// Which requests are turned away by their headers alone, before a body is read: those that
// would slip past a limit of the HTTP library, and those that are no request of this API.
#pragma once

#include <httplib.h>

#include <optional>

#include "aqua/result.hpp"

namespace aqua::coordinator {

struct Refusal {
  int status = 400;
  Error error;
};

// nullopt: go on.
[[nodiscard]] std::optional<Refusal> refusal_of(const httplib::Request& request);

}  // namespace aqua::coordinator
