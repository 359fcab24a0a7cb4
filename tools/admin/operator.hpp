// SPDX-License-Identifier: Apache-2.0
// What an operator (the `aqua` command, a placer) asks a coordinator without being a client of it:
// at "unix:PATH", "HOST:PORT" of the loopback, or over TLS at "https://HOST:PORT" (https_call.hpp).
//
// Threads: free functions; each blocks for at most `patience`. unavailable when nobody
// answers; permission_denied where the caller is no operator:
// over TCP without a token (bearer_token()), or as another user.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "wire/clients.hpp"
#include "wire/groups.hpp"
#include "wire/observation.hpp"
#include "wire/servers.hpp"
#include "wire/state.hpp"

namespace aqua::admin {

inline constexpr std::chrono::milliseconds kOperatorPatience{5000};

// Times in a state are this process's steady_clock.
[[nodiscard]] Result<wire::State> fetch_state(
    std::string_view coordinator, std::chrono::milliseconds patience = kOperatorPatience);
[[nodiscard]] Result<wire::SlabStory> fetch_story(
    std::string_view coordinator, const ledger::SlabId& slab,
    std::chrono::milliseconds patience = kOperatorPatience);
[[nodiscard]] Result<wire::Info> fetch_info(std::string_view coordinator,
                                            std::chrono::milliseconds patience = kOperatorPatience);
// All that the coordinator knows of, itself among them.
[[nodiscard]] Result<wire::Servers> fetch_servers(
    std::string_view coordinator, std::chrono::milliseconds patience = kOperatorPatience);
[[nodiscard]] Result<void> set_pair(std::string_view coordinator, const wire::Pair& pair,
                                    std::chrono::milliseconds patience = kOperatorPatience);
[[nodiscard]] Result<void> remove_pair(std::string_view coordinator, const ClientId& consumer,
                                       std::chrono::milliseconds patience = kOperatorPatience);
// The number of the reclaim that brings the bytes home.
[[nodiscard]] Result<std::uint64_t> recall(std::string_view coordinator,
                                           const wire::RecallRequest& request,
                                           std::chrono::milliseconds patience = kOperatorPatience);
[[nodiscard]] Result<void> drain(std::string_view coordinator, const wire::DrainRequest& request,
                                 std::chrono::milliseconds patience = kOperatorPatience);
[[nodiscard]] Result<void> end_drain(std::string_view coordinator, const ClientId& client,
                                     std::chrono::milliseconds patience = kOperatorPatience);
[[nodiscard]] Result<wire::Groups> fetch_groups(
    std::string_view coordinator, std::chrono::milliseconds patience = kOperatorPatience);
// With its plan, where it has one.
[[nodiscard]] Result<groups::Group> fetch_group(
    std::string_view coordinator, const groups::GroupId& group,
    std::chrono::milliseconds patience = kOperatorPatience);
[[nodiscard]] Result<void> end_group(std::string_view coordinator, const groups::GroupId& group,
                                     std::chrono::milliseconds patience = kOperatorPatience);

}  // namespace aqua::admin
