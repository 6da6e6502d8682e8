// Random numbers that cannot be guessed, from the kernel: SEIDs, keys, seeds.
//
// A system call each: for control code, not for workers. Any thread.

#pragma once

#include <stddef.h>
#include <stdint.h>

// Cannot fail: waits for the kernel's pool at boot, and aborts where there is no getrandom(2).
void rand_bytes(void *buf, size_t len);

uint32_t rand_u32(void);
uint64_t rand_u64(void);
