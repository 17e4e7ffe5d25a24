/* SPDX-License-Identifier: Apache-2.0
 * Copyright the fabrail authors
 *
 * What the emulated GPU (libcuda.so.1) offers beside the public driver functions: the hardware's
 * side of it, for emulated NICs, emulated kernels and tests. A program that must also run where no
 * emulated GPU is looks these up with dlopen("libcuda.so.1", RTLD_NOLOAD) and dlsym.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define EMUGPU_PUBLIC __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- for emulated NICs ---- */

/* Peer memory: where the CPU reaches the device bytes [addr, addr + bytes), or NULL if they are not
 * device memory, not wholly allocated, or if registration is refused (a NIC's registration should
 * then fail with EFAULT). The alias stays valid until the memory is freed. */
EMUGPU_PUBLIC void* emugpu_alias(const void* addr, size_t bytes);

/* A NIC tells that it has written [addr, addr + bytes): a device address or its alias. With
 * EMUGPU_VISIBLE_AFTER_MS the bytes vanish from the memory, whatever is read there meanwhile is
 * wrong in every byte, and they come back after a read through the same NIC, a driver flush, or a
 * random delay. Call it in the process that owns the memory, before the write's completion can be
 * seen there; for memory that was registered by dma-buf, with the device address. Without the
 * setting, or if addr is not device memory, it does nothing. `nic` is any number that names the
 * NIC. */
EMUGPU_PUBLIC void emugpu_nic_wrote(uint64_t nic, const void* addr, size_t bytes);

/* A NIC is about to read [addr, addr + bytes): by PCIe's rules this pushes what the same NIC wrote
 * to the same device before, and nothing else. Call it before the bytes are taken. Like
 * emugpu_nic_wrote() it does nothing if addr is not device memory. */
EMUGPU_PUBLIC void emugpu_nic_read(uint64_t nic, const void* addr, size_t bytes);

/* Bytes that NICs have written and that no flush or delay has made visible yet. */
EMUGPU_PUBLIC size_t emugpu_invisible_bytes(void);

/* ---- for emulated kernels ---- */

struct emugpu_grid {
  unsigned blocks[3];
  unsigned threads[3];
  unsigned shared_bytes;
};

/* Runs a whole grid on the stream's thread. `args` is a copy of the first kernel parameter. */
typedef void (*emugpu_kernel_fn)(const void* args, const struct emugpu_grid* grid);

/* Gives the kernel called `name` its behaviour. `args_bytes` is the size of its one parameter. A
 * launch that passes a parameter buffer instead may pass fewer bytes. `name` is copied. */
EMUGPU_PUBLIC void emugpu_register_kernel(const char* name, size_t args_bytes, emugpu_kernel_fn fn);

/* The CUfunction of a registered kernel, or NULL. */
EMUGPU_PUBLIC void* emugpu_find_kernel(const char* name);

/* Where an emulated kernel touches what `addr` points to; host pointers come back unchanged. */
EMUGPU_PUBLIC void* emugpu_kernel_address(const void* addr);

/* ---- for tests ---- */

/* Replaces the faults that EMUGPU_FAULTS names. Returns 0, or -1 if `spec` cannot be read. */
EMUGPU_PUBLIC int emugpu_set_faults(const char* spec);

#ifdef __cplusplus
}
#endif
