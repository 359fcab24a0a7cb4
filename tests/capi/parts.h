/* SPDX-License-Identifier: Apache-2.0 */
/* The C test's parts, each a file of its own. */
#ifndef AQUA_TESTS_CAPI_PARTS_H
#define AQUA_TESTS_CAPI_PARTS_H

#define MIB ((size_t)1 << 20)

void test_errors_and_version(void);
void test_layouts(void);
void test_tensors_and_transfers(const char* directory);
/* `coordinator`: the address of one. */
void test_lending(const char* directory, const char* coordinator);
void test_pool(const char* directory, const char* coordinator);
void test_northbound(const char* directory);
void test_layer_pools(const char* directory);

#endif
