// PFCP messages of a capture file, see capture.h. Files are small and of this tree, so that they are read whole
// and what is wrong with one ends the program.

#include "capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (1 << 20)
#define FILE_HEADER 24
#define PACKET_HEADER 16
#define UDP_AT 34 // after Ethernet and IPv4
#define PAYLOAD_AT 42
#define PORT 8805

static size_t get16(const uint8_t *at)
{
	return (size_t)(at[0] << 8 | at[1]);
}

static size_t little32(const uint8_t *at)
{
	return (size_t)at[3] << 24 | (size_t)at[2] << 16 | (size_t)at[1] << 8 | at[0];
}

static size_t file_read(const char *path, uint8_t *bytes)
{
	FILE *in = fopen(path, "rb");
	size_t len = in ? fread(bytes, 1, FILE_MAX, in) : 0;

	if (in)
		fclose(in);
	if (len < FILE_HEADER || len == FILE_MAX) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(1);
	}
	return len;
}

static int is_smf(const uint8_t *frame, size_t len)
{
	static const uint8_t ipv4[] = {8, 0, 0x45}, smf[] = {127, 0, 0, 4};

	return len > PAYLOAD_AT && memcmp(frame + 12, ipv4, sizeof(ipv4)) == 0 && frame[23] == 17 &&
	       memcmp(frame + 26, smf, sizeof(smf)) == 0 &&
	       (get16(frame + UDP_AT) == PORT || get16(frame + UDP_AT + 2) == PORT);
}

size_t capture_read(const char *path, struct mutate_msg *pool, size_t most)
{
	uint8_t *bytes = malloc(FILE_MAX);
	size_t size = bytes ? file_read(path, bytes) : 0;
	size_t at = FILE_HEADER, n = 0;

	while (at + PACKET_HEADER < size && n < most) {
		size_t len = little32(bytes + at + 8);
		const uint8_t *frame = bytes + at + PACKET_HEADER;

		at += PACKET_HEADER + len;
		if (at <= size && is_smf(frame, len))
			pool[n++] = (struct mutate_msg){frame + PAYLOAD_AT, len - PAYLOAD_AT};
	}
	return n;
}
