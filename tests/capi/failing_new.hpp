// SPDX-License-Identifier: Apache-2.0
// operator new that fails when it is told to, in the thread that says so; and a count of what is
// alive. Link failing_new.cpp into a program to replace its operators.
#pragma once

#include <cstddef>

namespace aqua::test {

enum class Failing { once, from_then_on };

// While it lives, the allocation after `successes` others fails in this thread.
class FailingNew {
 public:
  explicit FailingNew(std::size_t successes, Failing failing = Failing::once);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
  [[nodiscard]] bool failed() const;
};

// The number of live allocations of all threads.
[[nodiscard]] std::ptrdiff_t live_allocations();

}  // namespace aqua::test
