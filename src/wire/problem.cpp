// SPDX-License-Identifier: Apache-2.0
#include "wire/problem.hpp"

#include <string>

#include "wire/error.hpp"
#include "wire/limits.hpp"
#include "wire/message.hpp"

namespace aqua::wire {
namespace {

struct Words {
  std::string_view title;
  std::string_view next;
};

constexpr Words words_of(Code code) noexcept {
  switch (code) {
    case Code::invalid_argument:
      return {"Not a valid request", "mend the request; it will never be accepted as it is"};
    case Code::not_found:
      return {"No such object", "look again at what there is, or drop what you know of it"};
    case Code::already_exists:
      return {"Exists already", "take what exists, or choose another name"};
    case Code::failed_precondition:
      return {"Not in this state", "change what the detail names, then repeat"};
    case Code::permission_denied:
      return {"Not allowed", "prove who you are, or ask an operator for the right"};
    case Code::resource_exhausted:
      return {"Over a limit", "wait or free something, then repeat"};
    case Code::unavailable:
      return {"Not available now", "repeat this request later"};
    case Code::aborted:
      return {"Overtaken", "read the present state and start the whole step again"};
    case Code::deadline_exceeded:
      return {"The deadline has passed", "read what was done so far, then decide anew"};
    case Code::cancelled:
      return {"Cancelled", "nothing; the caller asked for it"};
    case Code::data_loss:
      return {"Bytes are lost", "recompute them"};
    case Code::unimplemented:
      return {"Not known here", "use what this version offers; see /openapi.json"};
    case Code::internal:
      return {"A bug of the coordinator's", "report it with the coordinator's log"};
  }
  return {"Error", "report it with the coordinator's log"};
}

void write(Json& out, const Problem& problem, ledger::Time) {
  Json error;
  write_error(error, problem.error);
  out["type"] = concat("urn:aqua:problem:", to_string(problem.error.code));
  out["title"] = title_of(problem.error.code);
  out["status"] = problem.status;
  out["detail"] = error["message"];
  out["code"] = error["code"];
  out["next"] = next_step(problem.error.code);
  out["epoch"] = to_string(problem.epoch);
}
void read(Fields& in, Problem& problem, ledger::Time) {
  std::string said;  // follows from the code, and is there for people
  for (const char* name : {"type", "title", "next"}) in.prose(name, said);
  in.number("status", problem.status, 100, 599);
  in.named("code", problem.error.code, parse_code);
  in.prose("detail", problem.error.message, 3 * kMaxMessage);  // mended bytes take three
  in.id("epoch", problem.epoch);
}

}  // namespace

std::string_view title_of(Code code) noexcept {
  return words_of(code).title;
}
std::string_view next_step(Code code) noexcept {
  return words_of(code).next;
}

AQUA_WIRE_MESSAGE(Problem, kMaxRequestBytes)

}  // namespace aqua::wire
