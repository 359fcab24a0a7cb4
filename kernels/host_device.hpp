// SPDX-License-Identifier: Apache-2.0
// Lets one function be compiled for the host and for the device. Files that only a C++
// compiler sees (the CPU's tests) get plain functions.
#pragma once

#if defined(__CUDACC__)
#define AQUA_HOST_DEVICE __host__ __device__
#define AQUA_DEVICE __device__  // of templates: the host has them where CUDA is absent
#define AQUA_UNROLL _Pragma("unroll")
#define AQUA_NO_UNROLL _Pragma("unroll 1")
#else
#define AQUA_HOST_DEVICE
#define AQUA_DEVICE
#define AQUA_UNROLL
#define AQUA_NO_UNROLL
#endif
