// Making and freeing what services keep of flows, see flow_state.h.
// Start-up, and after the end. No flow has version 0, so zeros are nobody's.

#include "session/flow_state.h"

#include <assert.h>
#include <errno.h>

#include <rte_malloc.h>

int flow_state_init(struct flow_state *state, uint32_t n, uint32_t bytes, int socket)
{
	assert(bytes >= sizeof(uint32_t));
	*state = (struct flow_state){
		.bytes = bytes,
		.records = rte_zmalloc_socket("flow_state", ((size_t)n + 1) * bytes,
					      RTE_CACHE_LINE_SIZE, socket),
	};
	return state->records ? 0 : -ENOMEM;
}

void flow_state_fini(struct flow_state *state)
{
	rte_free(state->records);
	*state = (struct flow_state){0};
}
