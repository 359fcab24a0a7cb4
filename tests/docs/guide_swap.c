/* SPDX-License-Identifier: Apache-2.0 */
/* The guide's C, compiled as C. */
#include "aqua/aqua.h"
#include "swap.h"

aqua_error* guide_preempt(aqua_runtime runtime, aqua_layout layout, const uint32_t* blocks,
                          size_t count, aqua_stream stream, aqua_tensor* tensor,
                          aqua_ticket* ticket);
aqua_error* guide_preempt(aqua_runtime runtime, aqua_layout layout, const uint32_t* blocks,
                          size_t count, aqua_stream stream, aqua_tensor* tensor,
                          aqua_ticket* ticket) {
  return preempt(runtime, layout, blocks, count, stream, tensor, ticket);
}
