# SPDX-License-Identifier: Apache-2.0
"""The structs of the C ABI, as ctypes has them. Of no use outside this package."""
