// Loads and stores of network bytes at any alignment.
//
// be*: a network-order field as a number. word*: bytes as they stand, for sums and comparisons.

#pragma once

#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

static inline uint16_t word16_get(const void *from)
{
	uint16_t word;
	memcpy(&word, from, sizeof(word));
	return word;
}

static inline uint32_t word32_get(const void *from)
{
	uint32_t word;
	memcpy(&word, from, sizeof(word));
	return word;
}

static inline uint64_t word64_get(const void *from)
{
	uint64_t word;
	memcpy(&word, from, sizeof(word));
	return word;
}

static inline void word64_put(void *to, uint64_t word)
{
	memcpy(to, &word, sizeof(word));
}

static inline uint16_t be16_get(const void *from)
{
	return rte_be_to_cpu_16(word16_get(from));
}

static inline uint32_t be32_get(const void *from)
{
	return rte_be_to_cpu_32(word32_get(from));
}

static inline void be16_put(void *to, uint16_t value)
{
	value = rte_cpu_to_be_16(value);
	memcpy(to, &value, sizeof(value));
}

static inline void be32_put(void *to, uint32_t value)
{
	value = rte_cpu_to_be_32(value);
	memcpy(to, &value, sizeof(value));
}
