// SPDX-License-Identifier: Apache-2.0
// Addresses at which the processes of a pipeline listen for their neighbours: the path of a Unix
// socket, where all are on one host, or ADDRESS:PORT in numbers (IPv4), where they are on several.
//
// Threads: functions of their arguments. Errors: Failure.
#pragma once

#include <string>

#include "fd.hpp"

namespace aqua::pipeline {

// A socket that listens there; port 0 is any that is free.
[[nodiscard]] example::Fd listen_at(const std::string& address);
// Where it does: the address, with the port that it has got.
[[nodiscard]] std::string address_of(const example::Fd& listener, const std::string& asked);
// A socket that begins to connect: writable once it is connected, or has failed. Invalid, with
// errno, where it has failed already.
[[nodiscard]] example::Fd begin_to_connect(const std::string& address);

}  // namespace aqua::pipeline
