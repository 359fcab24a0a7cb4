// SPDX-License-Identifier: Apache-2.0
// What fuzzers of the C ABI share: the input as choices, and the handles that calls have made, of
// which a dead one must never work again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

#include "aqua/aqua.h"

namespace aqua::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] bool empty() const { return at_ >= size_; }
  std::uint8_t byte() { return empty() ? std::uint8_t{0} : data_[at_++]; }
  // Small, often 0; now and then of any size.
  std::size_t number() {
    const std::size_t n = byte();
    return n < 240 ? n : n < 248 ? n << 12 : n < 252 ? n << 56 : SIZE_MAX - byte();
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

inline void must(aqua_error* error) {
  if (error == nullptr) return;
  std::fprintf(stderr, "%s\n", aqua_error_message(error));
  std::abort();
}
inline bool ok(aqua_error* error) {
  const aqua_code code = aqua_error_code(error);
  if (code > AQUA_INTERNAL || (error != nullptr && aqua_error_message(error)[0] == 0)) std::abort();
  aqua_error_free(error);
  return code == AQUA_OK;
}

class Handles {
 public:
  explicit Handles(Input& in) : in_(in) {}
  // A call that used `id` came out well: then it must not be dead.
  void used(std::uint64_t id, bool well) const {
    if (well && dead_.contains(id)) std::abort();
  }
  void ended(std::uint64_t id, bool well) {
    used(id, well);
    if (well) dead_.insert(id);
  }
  void made(std::uint64_t id, bool well) {
    if (!well) return;
    if (dead_.contains(id)) std::abort();  // handles are never given twice
    ids_.push_back(id);
  }
  // One of those made, now and then with a bit changed, or an invented number.
  std::uint64_t pick() {
    const std::uint8_t n = in_.byte();
    if (n >= 250) return std::uint64_t{in_.byte()} << (n - 250) * 11;
    const std::uint64_t id = ids_[n % ids_.size()];
    return n >= 240 ? id ^ (std::uint64_t{1} << (in_.byte() & 63)) : id;
  }
  [[nodiscard]] bool dead(std::uint64_t id) const { return dead_.contains(id); }
  [[nodiscard]] const std::vector<std::uint64_t>& all() const { return ids_; }

 private:
  Input& in_;
  std::vector<std::uint64_t> ids_;
  std::set<std::uint64_t> dead_;
};

}  // namespace aqua::fuzz
