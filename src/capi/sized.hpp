// SPDX-License-Identifier: Apache-2.0
// Structs that begin with their size: how they come in and go out, whatever their ages.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "aqua/result.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::capi {

// Larger ones are no struct of any age: reading further might run off somebody's memory.
inline constexpr std::size_t kLargestStruct = 4096;

template <typename T>
concept Sized = std::is_trivially_copyable_v<T> && requires(T s) {
  { s.struct_size } -> std::same_as<std::size_t&>;
};

template <Sized T>
[[nodiscard]] Result<void> check_size(const char* what, const T* given) {
  if (given == nullptr) return Error{Code::invalid_argument, concat(what, " is NULL")};
  const std::size_t size = given->struct_size;
  if (size < sizeof(std::size_t) || size > kLargestStruct || size % alignof(T) != 0) {
    return Error{Code::invalid_argument,
                 concat(what, ": struct_size is ", size, ", this library's is ", sizeof(T),
                        "; was it initialised?")};
  }
  return {};
}

// What the caller gave, with `ours` where its struct is older. invalid_argument when a newer one
// asks for what we do not know.
template <Sized T>
[[nodiscard]] Result<T> take_in(const char* what, const T* given, T ours = {}) {
  AQUA_TRY(check_size(what, given));
  std::memcpy(&ours, given, std::min(sizeof(T), given->struct_size));
  const auto* bytes = reinterpret_cast<const std::byte*>(given);
  for (std::size_t i = sizeof(T); i < given->struct_size; ++i) {
    if (bytes[i] == std::byte{0}) continue;
    return Error{Code::invalid_argument,
                 concat(what, ": struct_size is ", given->struct_size, ", this library knows ",
                        sizeof(T), " bytes of it, and a field beyond is set")};
  }
  return ours;
}

// Fills the caller's struct as far as both know it, with zeros beyond; its size stays.
template <Sized T>
void give_out(const T& ours, T* theirs) noexcept {
  constexpr std::size_t kHead = sizeof(std::size_t);
  const std::size_t size = theirs->struct_size;
  auto* const to = reinterpret_cast<std::byte*>(theirs);
  std::memcpy(to + kHead, reinterpret_cast<const std::byte*>(&ours) + kHead,
              std::min(sizeof(T), size) - kHead);
  if (size > sizeof(T)) std::memset(to + sizeof(T), 0, size - sizeof(T));
}

template <std::size_t kBytes>
void copy_name(char (&to)[kBytes], std::string_view from) noexcept {
  const std::size_t length = std::min(from.size(), kBytes - 1);
  std::memcpy(to, from.data(), length);
  std::memset(to + length, 0, kBytes - length);
}

}  // namespace aqua::capi
