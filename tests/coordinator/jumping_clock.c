/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: a wall clock that jumps by years with every look, forwards and back. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long jump(void) {
  static unsigned looks;
  return (__sync_fetch_and_add(&looks, 1) % 2 ? 3 : -3) * 365L * 24 * 3600;
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  const long status = syscall(SYS_clock_gettime, clock, out);
  if (status == 0 && clock == CLOCK_REALTIME) out->tv_sec += jump();
  return (int)status;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
