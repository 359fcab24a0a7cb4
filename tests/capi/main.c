/* SPDX-License-Identifier: Apache-2.0 */
/* capi_test COORDINATOR: every call of the C ABI, from C, over emulated GPUs and a coordinator
 * of its own. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/capi/check.h"
#include "tests/capi/parts.h"

/* Returns once it listens. Before this process has threads: it forks. */
static pid_t start_coordinator(const char* binary, const char* address, const char* data) {
  int out[2];
  char line[256];
  CHECK(pipe2(out, O_CLOEXEC) == 0);
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out[1], 1);
    execl(binary, "aqua-coordinator", "--listen", address, "--data", data, "--log-level", "warn",
          (char*)NULL);
    perror(binary);
    _exit(1);
  }
  close(out[1]);
  CHECK(read(out[0], line, sizeof line) > 0);
  close(out[0]);
  return pid;
}

int main(int argc, char** argv) {
  char directory[] = "/tmp/aqua-capi-XXXXXX";
  char address[64];
  char data[64];
  char remove[64];
  CHECK(argc == 2);
  CHECK(mkdtemp(directory) != NULL);
  snprintf(address, sizeof address, "unix:%s/c.sock", directory);
  snprintf(data, sizeof data, "%s/data", directory);
  const pid_t coordinator = start_coordinator(argv[1], address, data);

  test_errors_and_version();
  test_layouts();
  test_tensors_and_transfers(directory);
  test_northbound(directory);
  test_lending(directory, address);
  test_pool(directory, address);
  test_layer_pools(directory);

  kill(coordinator, SIGTERM);
  waitpid(coordinator, NULL, 0);
  snprintf(remove, sizeof remove, "rm -rf %s", directory);
  CHECK(system(remove) == 0);
  puts("every call does what it says");
  return 0;
}
