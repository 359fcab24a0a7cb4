/* SPDX-License-Identifier: Apache-2.0 */
/* A small consumer in C: bytes go through a tensor and back. */
#include <stdio.h>
#include <string.h>

#include "aqua/aqua.h"
#include "aqua/aqua_emulated.h"

static int failed(aqua_error* error) {
  if (error == NULL) return 0;
  fprintf(stderr, "%s: %s\n", aqua_code_name(aqua_error_code(error)), aqua_error_message(error));
  aqua_error_free(error);
  return 1;
}

int main(void) {
  aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
  aqua_tensor_options wanted = AQUA_TENSOR_OPTIONS_INIT;
  aqua_runtime runtime;
  aqua_tensor tensor;
  aqua_pin pin;
  void* data = NULL;
  const char sent[] = "through a tensor";
  char got[sizeof sent] = {0};
  options.device = "emu:11";
  options.coordinator = "none";
  options.host_bytes = (size_t)2 << 20;
  wanted.bytes = 4096;
  if (aqua_version() != AQUA_VERSION_NUMBER) return 1;
  if (failed(aqua_runtime_open(&options, &runtime))) return 1;
  if (failed(aqua_tensor_allocate(runtime, &wanted, &tensor))) return 1;
  if (failed(aqua_tensor_pin(tensor, AQUA_ACCESS_WRITE, 0, 0, AQUA_WHOLE_TENSOR, &pin, &data)))
    return 1;
  if (failed(aqua_emulated_write(runtime, 0, data, sent, sizeof sent))) return 1;
  if (failed(aqua_emulated_read(runtime, 0, data, got, sizeof got))) return 1;
  if (failed(aqua_pin_release(pin))) return 1;
  if (failed(aqua_emulated_synchronize(runtime, 0))) return 1;
  if (failed(aqua_tensor_free(tensor))) return 1;
  if (failed(aqua_runtime_close(runtime))) return 1;
  return strcmp(sent, got) == 0 ? 0 : 1;
}
