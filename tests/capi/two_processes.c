/* SPDX-License-Identifier: Apache-2.0 */
/* capi_two_processes COORDINATOR: one process lends, another borrows, both through the C ABI alone.
 * The lender (this process) takes its memory back, lends it again, and then kills the borrower. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aqua/aqua_emulated.h"
#include "tests/capi/check.h"
#include "tests/capi/parts.h"

#define TENSOR_BYTES (6 * MIB + 4096) /* over two slabs */
#define LENT_BYTES (16 * MIB)

/* A child with pipes to its stdin and stdout. */
struct child {
  pid_t pid;
  FILE* in;
  FILE* out;
};

/* Before this process has threads: it forks. */
static struct child start(char* const* argv) {
  int to[2];
  int from[2];
  CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
  struct child child = {.pid = fork()};
  CHECK(child.pid >= 0);
  if (child.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(to[0], 0);
    dup2(from[1], 1);
    execv(argv[0], argv);
    perror(argv[0]);
    _exit(1);
  }
  close(to[0]);
  close(from[1]);
  child.in = fdopen(to[1], "w");
  child.out = fdopen(from[0], "r");
  CHECK(child.in != NULL && child.out != NULL);
  return child;
}

static void ask(const struct child* child, const char* question, const char* expected) {
  char line[256] = "";
  CHECK(fprintf(child->in, "%s\n", question) > 0 && fflush(child->in) == 0);
  CHECK(fgets(line, sizeof line, child->out) != NULL);
  line[strcspn(line, "\n")] = '\0';
  if (strcmp(line, expected) != 0) {
    fprintf(stderr, "%s: %s expected, got %s\n", question, expected, line);
    exit(1);
  }
}

static aqua_runtime open_one(const char* device, const char* coordinator, size_t max_peer_bytes) {
  aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
  aqua_runtime runtime;
  options.device = device;
  options.coordinator = coordinator;
  options.name = max_peer_bytes > 0 ? "borrower" : "lender";
  options.host_bytes = 32 * MIB;
  options.max_peer_bytes = max_peer_bytes;
  options.slab_bytes = 4 * MIB;
  OK(aqua_runtime_open(&options, &runtime));
  return runtime;
}

static aqua_runtime_status status_of(aqua_runtime runtime) {
  aqua_runtime_status status = AQUA_RUNTIME_STATUS_INIT;
  OK(aqua_runtime_get_status(runtime, &status));
  return status;
}

/* --- the borrower ------------------------------------------------------------------------- */

static unsigned char pattern(size_t i) {
  return (unsigned char)(i * 31 + (i >> 8) + 7);
}

static void write_pattern(aqua_runtime runtime, aqua_tensor tensor) {
  unsigned char* bytes = malloc(TENSOR_BYTES);
  CHECK(bytes != NULL);
  for (size_t i = 0; i < TENSOR_BYTES; ++i) bytes[i] = pattern(i);
  aqua_pin pin;
  void* data = NULL;
  OK(aqua_tensor_pin(tensor, AQUA_ACCESS_WRITE, 0, 0, AQUA_WHOLE_TENSOR, &pin, &data));
  OK(aqua_emulated_write(runtime, 0, data, bytes, TENSOR_BYTES));
  OK(aqua_pin_release(pin));
  free(bytes);
}

static size_t wrong_bytes(aqua_runtime runtime, aqua_tensor tensor) {
  unsigned char* bytes = calloc(TENSOR_BYTES, 1);
  CHECK(bytes != NULL);
  aqua_pin pin;
  void* data = NULL;
  OK(aqua_tensor_pin(tensor, AQUA_ACCESS_READ, 0, 0, AQUA_WHOLE_TENSOR, &pin, &data));
  OK(aqua_emulated_read(runtime, 0, data, bytes, TENSOR_BYTES));
  OK(aqua_pin_release(pin));
  OK(aqua_emulated_synchronize(runtime, 0));
  size_t wrong = 0;
  for (size_t i = 0; i < TENSOR_BYTES; ++i) wrong += bytes[i] != pattern(i);
  free(bytes);
  return wrong;
}

static void await_tier(aqua_tensor tensor, aqua_tier wanted) {
  aqua_tier tier = 99;
  for (int i = 0; tier != wanted; ++i) {
    CHECK(i < 20000);
    OK(aqua_tensor_get_tier(tensor, &tier));
    poll(NULL, 0, 1);
  }
}

/* Answers "host" and "peer" once the tensor is there, with the number of bytes that are wrong. */
static int borrow(const char* coordinator) {
  const aqua_runtime runtime = open_one("emu:8", coordinator, LENT_BYTES);
  aqua_tensor_options options = AQUA_TENSOR_OPTIONS_INIT;
  options.bytes = TENSOR_BYTES;
  options.name = "travels";
  aqua_tensor tensor;
  char line[64];
  OK(aqua_tensor_allocate(runtime, &options, &tensor));
  write_pattern(runtime, tensor);
  while (fgets(line, sizeof line, stdin) != NULL) {
    await_tier(tensor, strcmp(line, "peer\n") == 0 ? AQUA_TIER_PEER : AQUA_TIER_HOST);
    printf("%zu wrong\n", wrong_bytes(runtime, tensor));
    fflush(stdout);
  }
  return 1; /* it was to be killed */
}

/* --- the lender --------------------------------------------------------------------------- */

static void take_back(aqua_runtime lender) {
  aqua_reclaim_progress progress = AQUA_RECLAIM_PROGRESS_INIT;
  aqua_reclaim reclaim;
  OK(aqua_runtime_reclaim(lender, LENT_BYTES, 20000, &reclaim));
  OK(aqua_reclaim_wait(reclaim, &progress));
  CHECK(progress.bytes_returned == LENT_BYTES && progress.holders == 0);
  OK(aqua_reclaim_free(reclaim));
  CHECK(status_of(lender).lent_bytes == 0);
}

static void await_held(aqua_runtime lender) {
  for (int i = 0; status_of(lender).held_bytes != LENT_BYTES; ++i) {
    CHECK(i < 20000);
    poll(NULL, 0, 1);
  }
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "borrow") == 0) return borrow(argv[2]);
  CHECK(argc == 2);
  char directory[] = "/tmp/aqua-capi2-XXXXXX";
  char address[64];
  char data[64];
  char line[256];
  CHECK(mkdtemp(directory) != NULL);
  CHECK(setenv("XDG_RUNTIME_DIR", directory, 1) == 0); /* exchange sockets of both */
  snprintf(address, sizeof address, "unix:%s/c.sock", directory);
  snprintf(data, sizeof data, "%s/data", directory);
  const struct child coordinator =
      start((char*[]){argv[1], "--listen", address, "--data", data, "--log-level", "error", NULL});
  CHECK(fgets(line, sizeof line, coordinator.out) != NULL); /* it listens */
  const struct child borrower = start((char*[]){"/proc/self/exe", "borrow", address, NULL});

  const aqua_runtime lender = open_one("emu:7", address, 0);
  OK(aqua_runtime_lend(lender, LENT_BYTES));
  ask(&borrower, "peer", "0 wrong");
  await_held(lender);
  take_back(lender);
  ask(&borrower, "host", "0 wrong");
  OK(aqua_runtime_lend(lender, LENT_BYTES));
  ask(&borrower, "peer", "0 wrong");

  await_held(lender);
  CHECK(kill(borrower.pid, SIGKILL) == 0 && waitpid(borrower.pid, NULL, 0) == borrower.pid);
  take_back(lender); /* the dead hold nothing */
  OK(aqua_runtime_close(lender));

  CHECK(kill(coordinator.pid, SIGTERM) == 0 && waitpid(coordinator.pid, NULL, 0) > 0);
  snprintf(line, sizeof line, "rm -rf %s", directory);
  CHECK(system(line) == 0);
  puts("lent, borrowed, reclaimed, lent again, and taken back from the dead");
  return 0;
}
