// SPDX-License-Identifier: Apache-2.0
// What sharing_contact asks, by file (checks.cpp says what follows).
#pragma once

#include "tests/gpu/first_contact/check.hpp"

namespace aqua::sharing_contact {

[[nodiscard]] Result<first_contact::Answer> descriptor_alone();  // keeper_checks.cpp
[[nodiscard]] Result<first_contact::Answer> write_faults(const first_contact::Gpu& gpu);
[[nodiscard]] Result<first_contact::Answer> graph_resume(const first_contact::Gpu& gpu);
[[nodiscard]] Result<first_contact::Answer> mps_kill(const first_contact::Gpu& gpu);
[[nodiscard]] Result<first_contact::Answer> pool_handoff();  // pool_checks.cpp
[[nodiscard]] Result<first_contact::Answer> pool_kill();

}  // namespace aqua::sharing_contact
