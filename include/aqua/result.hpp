// SPDX-License-Identifier: Apache-2.0
// Errors are values. A function that can fail returns Result<T>; the caller
// chooses the next step by Error::code and shows Error::message to a person.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace aqua {

// Codes are chosen by what the caller does next.
enum class Code : std::uint8_t {
  invalid_argument,     // the call is wrong; mend it
  not_found,            // no such object (any more)
  already_exists,       // done before, or the name is taken
  failed_precondition,  // something else must change first
  permission_denied,    // not yours, or a secret did not match
  resource_exhausted,   // no space, no descriptors, over a limit; free something
  unavailable,          // the other side is away; repeat this call later
  aborted,              // overtaken (stale generation, new epoch); start the whole step again
  deadline_exceeded,    // the deadline passed; the message says what is done so far
  cancelled,            // the caller asked for it
  data_loss,            // the bytes are gone; recompute them
  unimplemented,        // this build or device cannot
  internal,             // a bug of ours, or a driver error with no better name
};

[[nodiscard]] constexpr std::string_view to_string(Code code) noexcept {
  switch (code) {
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::not_found:
      return "not_found";
    case Code::already_exists:
      return "already_exists";
    case Code::failed_precondition:
      return "failed_precondition";
    case Code::permission_denied:
      return "permission_denied";
    case Code::resource_exhausted:
      return "resource_exhausted";
    case Code::unavailable:
      return "unavailable";
    case Code::aborted:
      return "aborted";
    case Code::deadline_exceeded:
      return "deadline_exceeded";
    case Code::cancelled:
      return "cancelled";
    case Code::data_loss:
      return "data_loss";
    case Code::unimplemented:
      return "unimplemented";
    case Code::internal:
      return "internal";
  }
  return "internal";
}

struct [[nodiscard]] Error {
  Code code = Code::internal;
  std::string message;  // names the operation and the values
};

// Either a T or an Error. Ask ok() first: reading the one that is not there is a bug of the caller.
// It asserts, and is undefined where NDEBUG takes the asserts out.
template <typename T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  // Not for a bool, which `if (ticket.done())` would seem to ask for.
  explicit operator bool() const noexcept requires(!std::is_same_v<T, bool>) { return ok(); }

  [[nodiscard]] T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const& {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error error() && {
    assert(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failed_(true), error_(std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return !failed_; }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] const Error& error() const& {
    assert(failed_);
    return error_;
  }
  [[nodiscard]] Error error() && {
    assert(failed_);
    return std::move(error_);
  }

 private:
  bool failed_ = false;
  Error error_;
};

}  // namespace aqua
