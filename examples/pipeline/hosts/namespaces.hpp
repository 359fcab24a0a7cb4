// SPDX-License-Identifier: Apache-2.0
// A host on this machine: namespaces of the network, of processes, of ipc, of the host's name and
// of mounts, that begin and end with one process. What runs in it sees its own folder among those
// of the hosts, and reaches others over its network alone.
//
// Threads: one, of a process that has no other. Errors: Failure, also for who may not do it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace aqua::pipeline {

// This process goes on in a network of its own, which is empty.
void leave_the_network();
// Becomes the host of that name, whose folder that is; its parent has those of the others, and they
// are not seen from the host. Says {"host": PID} on stdout, its first process as the caller numbers
// it, and stays until that is killed. Returns the exit status.
[[nodiscard]] int become_host(const std::string& name, const std::filesystem::path& folder);
// Goes on in the host whose first process that is, as a child of the caller. The caller stays
// behind, and ends as the child does; killed it takes the child with it, and SIGTERM kills the
// child.
void enter_host(pid_t first);

}  // namespace aqua::pipeline
