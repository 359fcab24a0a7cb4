// SPDX-License-Identifier: Apache-2.0
// What a program asks of a GPU and its driver: one check for each thing that the library takes for
// granted without a document that promises it, or that a choice of ours depends on. first_contact
// has those of the CUDA device, sharing_contact (tests/gpu/sharing) those of shared weights.
//
// Threads: one. Each check runs alone in a process of its own (process.hpp), which ends with it: a
//          check leaves what it has taken to the driver, and may hang or lose its context.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua::first_contact {

class Gpu;

struct Answer {
  bool yes = false;
  std::string detail{};                               // in words, for the line
  nlohmann::json figures = nlohmann::json::object();  // by name, with the unit in it
};

enum class Kind : unsigned char {
  assumption,  // libaqua is wrong or slow where the answer is no: the program fails
  question,    // either answer will do, and decides something
};

struct Check {
  const char* name;
  Kind kind;
  const char* asks;
  const char* otherwise;  // what to do where the answer is no
  // An error says which call failed, which is answered with no; unimplemented: nothing can be asked
  // here, which is skipped.
  Result<Answer> (*run)(const Gpu&) = nullptr;
  // Instead of `run`: in a process that opens neither driver nor GPU.
  Result<Answer> (*run_without_gpu)() = nullptr;
};

// What tells one program from another, besides its checks.
struct Program {
  const char* name;
  std::chrono::seconds limit;  // of one check; opening a context may be two seconds of it
  // The program once more, as another process of a check, told by test::kPeerSocket. Its exit
  // status, if it is not killed.
  int (*be_peer)(std::string_view role, std::size_t mib);
};
[[nodiscard]] const Program& program();

// The program's own, the most wanted first (checks.cpp).
[[nodiscard]] std::span<const Check> checks();
// The one of checks() with this name; null: there is none.
[[nodiscard]] const Check* find_check(std::string_view name);

// The other process of `forked_child` (death_checks.cpp): told by test::kPeerSocket.
[[nodiscard]] Result<void> be_victim(const Gpu& gpu);

// Each of first_contact's, by file.
[[nodiscard]] Result<Answer> reach(const Gpu& gpu);  // pointer_checks.cpp
[[nodiscard]] Result<Answer> attributes(const Gpu& gpu);
[[nodiscard]] Result<Answer> device_pointers(const Gpu& gpu);
[[nodiscard]] Result<Answer> pageable_memory(const Gpu& gpu);
[[nodiscard]] Result<Answer> map_sizes(const Gpu& gpu);  // mapping_checks.cpp
[[nodiscard]] Result<Answer> own_import(const Gpu& gpu);
[[nodiscard]] Result<Answer> map_twice(const Gpu& gpu);
[[nodiscard]] Result<Answer> read_only(const Gpu& gpu);
[[nodiscard]] Result<Answer> map_cost(const Gpu& gpu);
[[nodiscard]] Result<Answer> across_slabs(const Gpu& gpu);  // copy_checks.cpp
[[nodiscard]] Result<Answer> batch(const Gpu& gpu);
[[nodiscard]] Result<Answer> kernel_on_host(const Gpu& gpu);
[[nodiscard]] Result<Answer> bulk_on_host(const Gpu& gpu);
[[nodiscard]] Result<Answer> small_upload(const Gpu& gpu);  // queue_checks.cpp
[[nodiscard]] Result<Answer> unmap_waits(const Gpu& gpu);
[[nodiscard]] Result<Answer> forked_child(const Gpu& gpu);  // death_checks.cpp
[[nodiscard]] Result<Answer> pidfds(const Gpu& gpu);

}  // namespace aqua::first_contact
