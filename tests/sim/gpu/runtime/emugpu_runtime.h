/* SPDX-License-Identifier: Apache-2.0
 * Copyright the fabrail authors
 *
 * What the emulated CUDA runtime (libcudart.so.12) offers beside the public runtime functions.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the host symbol `symbol` launch the kernel that was registered with the emulated driver as
 * `name`, which a device compiler would arrange in a program. Returns 0, or -1 if there is no such
 * kernel. */
__attribute__((visibility("default"))) int emugpu_bind_kernel(const void* symbol, const char* name);

#ifdef __cplusplus
}
#endif
