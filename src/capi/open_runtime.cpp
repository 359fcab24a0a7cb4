#include "capi/open_runtime.hpp"

#include "base/concat.hpp"

namespace aqua::capi {

Result<OpenRuntime> keep_open(const char* what, std::uint64_t runtime_id) {
  auto [outcome, use] = runtimes().look(runtime_id);
  switch (outcome) {
    case HandleWord::Take::ok:
      return OpenRuntime{std::move(use), true};
    case HandleWord::Take::gone:
      return OpenRuntime{};
    case HandleWord::Take::crowded:
      return bad_take(what, Kind::runtime, runtime_id, outcome);
    case HandleWord::Take::ending:
      break;
  }
  return Error{Code::unavailable, concat(what, ": its runtime is being closed; ask again")};
}

}  // namespace aqua::capi
