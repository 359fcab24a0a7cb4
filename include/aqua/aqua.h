/* SPDX-License-Identifier: Apache-2.0 */
/* libaqua for C, and for every language that can call C. The rules hold for all of it:
 *
 * Errors:   a call that can fail returns aqua_error*: NULL when it succeeded, otherwise an
 *           object to read and to free (aqua/c/error.h). Nothing else has changed then.
 *           No C++ exception comes out, out of memory included.
 * Outputs:  are the last parameters and are written only on success.
 * Handles:  small values, copied at will. What made one names what frees it. A handle that is
 *           zero, freed, freed twice or of another kind gives an error (invalid_argument,
 *           not_found), also while another thread frees it: a call under way ends well.
 * Structs:  those that begin with struct_size are set up by their AQUA_..._INIT, which gives every
 *           field its default. 0 stands for the default only where 0 itself makes no sense: such
 *           a field's comment says "0: ...". The size lets programs and libraries of different
 *           ages meet: fields that the caller's struct does not have are at their defaults, and a
 *           field that this library does not know is invalid_argument unless it is zero. A new
 *           field always makes its struct larger.
 * Strings:  UTF-8, ended by a zero; NULL means empty. Copied before the call returns.
 * Threads:  every call may be made from any thread, concurrently.
 * Fork:     in a forked child every handle of the parent gives failed_precondition; the child
 *           opens a runtime of its own.
 * Units:    bytes; times say theirs.
 *
 * aqua/aqua_emulated.h adds what stands in for the CUDA runtime on an emulated GPU.
 */
#ifndef AQUA_AQUA_H
#define AQUA_AQUA_H

#include "aqua/c/block_pool.h"
#include "aqua/c/error.h"
#include "aqua/c/kv_pool.h"
#include "aqua/c/layer_pool.h"
#include "aqua/c/layout.h"
#include "aqua/c/lending.h"
#include "aqua/c/microbatch_swap.h"
#include "aqua/c/northbound.h"
#include "aqua/c/options.h"
#include "aqua/c/packer.h"
#include "aqua/c/pool.h"
#include "aqua/c/replica_reader.h"
#include "aqua/c/replicator.h"
#include "aqua/c/runtime.h"
#include "aqua/c/streamer.h"
#include "aqua/c/tensor.h"
#include "aqua/c/transfer.h"
#include "aqua/c/types.h"
#include "aqua/c/version.h"
#include "aqua/c/weights.h"

#endif
