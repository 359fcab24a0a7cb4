// SPDX-License-Identifier: Apache-2.0
// encode() and decode() for every message of this room.
//
// decode() is strict: a field that is missing, of the wrong type, out of range or too long,
// text that is not UTF-8, or a body too large or too deep gives invalid_argument naming the
// field. Fields it does not know are ignored, so that either side may be newer. Nothing
// throws.
//
// Times cross as milliseconds from `now`, for two machines share no clock: the sender's
// `now` is subtracted, the receiver's added, and what lies in the past arrives as `now`.
//
// Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "ledger/ledger.hpp"

namespace aqua::wire {

// Defined for the messages only; anything else does not link.
template <typename Message>
[[nodiscard]] std::string encode(const Message& message, ledger::Time now = {});

template <typename Message>
[[nodiscard]] Result<Message> decode(std::string_view body, ledger::Time now = {});

}  // namespace aqua::wire
