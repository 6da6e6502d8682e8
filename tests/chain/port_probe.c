// A program that opens ports as the daemon does and does as its standard input says, for trials of
// src/port over real devices (tests/smoke/test_port.py).
//
//   port_probe [-w workers] [-m memory_mb] [-H auto|on|off] iface...
//
// An iface is words with commas: mode=af_xdp,name=n3,device=veth0,addr=10.0.0.1,n3,n6,vlan=7,
// mtu=1500,xdp=generic,zc=on,busy=64; "device" comes last, since devargs have commas themselves.
// Every packet that comes in is printed: "rx <interface> <worker> <bytes in hex>". One thread.

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "base/log.h"
#include "port/port.h"

#define PROBE_IFACES 4
#define PROBE_BURST 32
#define PROBE_MBUFS 8191

static struct iface *ifaces[PROBE_IFACES];
static unsigned n_ifaces, n_workers = 1;
static struct rte_mempool *pools[MAX_WORKERS];

static void die(const char *text)
{
	printf("refused: %s\n", text);
	exit(1);
}

static int word_index(const char *word, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(word, words[i]))
			return i;
	die(word);
	return -1;
}

static void iface_word(struct port_conf *conf, char *word)
{
	static const char *const modes[] = {"af_xdp", "af_packet", "native", "vdev", NULL};
	static const char *const xdps[] = {"auto", "native", "generic", NULL};
	static const char *const copies[] = {"auto", "on", "off", NULL};
	char *value = strchr(word, '=');

	if (value)
		*value++ = '\0';
	else
		value = word;
	if (!strcmp(word, "n3"))
		conf->is_n3 = true;
	else if (!strcmp(word, "n6"))
		conf->is_n6 = true;
	else if (!strcmp(word, "name"))
		snprintf(conf->name, sizeof(conf->name), "%s", value);
	else if (!strcmp(word, "mode"))
		conf->mode = (enum port_mode)word_index(value, modes);
	else if (!strcmp(word, "xdp"))
		conf->xdp = (enum port_xdp)word_index(value, xdps);
	else if (!strcmp(word, "zc"))
		conf->zero_copy = (enum port_zero_copy)word_index(value, copies);
	else if (!strcmp(word, "vlan"))
		conf->vlan = (uint16_t)atoi(value);
	else if (!strcmp(word, "mtu"))
		conf->mtu = (uint16_t)atoi(value);
	else if (!strcmp(word, "busy"))
		conf->busy_budget = (uint32_t)atoi(value);
	else if (strcmp(word, "addr") || conf->n_addrs == PORT_MAX_ADDRS ||
		 addr_parse(value, &conf->addrs[conf->n_addrs++]))
		die(word);
}

static struct port_conf iface_parse(char *text)
{
	struct port_conf conf = {.name = "n3", .rx_desc = 2048, .tx_desc = 2048};
	char *device = strstr(text, "device=");
	char *save = NULL;

	if (!device)
		die(text);
	snprintf(conf.device, sizeof(conf.device), "%s", device + strlen("device="));
	*device = '\0';
	for (char *w = strtok_r(text, ",", &save); w; w = strtok_r(NULL, ",", &save))
		iface_word(&conf, w);
	return conf;
}

static void rx_print(const struct rte_mbuf *m, unsigned port, unsigned worker)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

	for (unsigned i = 0; i < n_ifaces; i++) {
		if (ifaces[i]->rx[worker].port_id != port)
			continue;
		printf("rx %s %u ", ifaces[i]->name, worker);
		break;
	}
	for (unsigned i = 0; i < rte_pktmbuf_data_len(m) && i < 128; i++)
		printf("%02x", p[i]);
	printf("\n");
}

static void copy_print(void *arg, const uint8_t *frame, uint16_t len)
{
	printf("copy ");
	for (unsigned i = 0; i < len; i++)
		printf("%02x", frame[i]);
	printf("\n");
}

static void copies_poll(void)
{
	for (unsigned i = 0; i < n_ifaces; i++)
		port_copies_read(ifaces[i], copy_print, NULL);
}

static void rx_poll(void)
{
	for (unsigned i = 0; i < n_ifaces; i++) {
		for (unsigned w = 0; w < n_workers; w++) {
			struct port_queue q = ifaces[i]->rx[w];
			struct rte_mbuf *m[PROBE_BURST];
			unsigned n = rte_eth_rx_burst(q.port_id, q.queue_id, m, PROBE_BURST);

			copies_poll(); // those that came before these packets are printed before
			for (unsigned k = 0; k < n; k++) {
				rx_print(m[k], q.port_id, w);
				rte_pktmbuf_free(m[k]);
			}
		}
	}
}

static void tx_hex(struct iface *iface, unsigned worker, const char *hex)
{
	struct port_queue q = iface->tx[worker];
	struct rte_mbuf *m = rte_pktmbuf_alloc(pools[worker]);
	unsigned n = (unsigned)strlen(hex) / 2;
	char *to = m ? rte_pktmbuf_append(m, (uint16_t)n) : NULL;

	for (unsigned i = 0; to && i < n; i++) {
		unsigned byte = 0;

		sscanf(hex + 2 * i, "%2x", &byte);
		to[i] = (char)byte;
	}
	printf("sent %u\n", to ? rte_eth_tx_burst(q.port_id, q.queue_id, &m, 1) : 0);
}

// "<command> <interface index> [arguments]"; false to end.
static bool command(char *line)
{
	char verb[16] = "", arg[4096] = "";
	struct port_counters c = {0};
	struct prefix prefix;
	struct iface *iface;
	unsigned index = 0, worker = 0;

	if (sscanf(line, "%15s %u %4095s %u", verb, &index, arg, &worker) < 1 ||
	    index >= n_ifaces || worker >= n_workers)
		return strcmp(verb, "quit");
	iface = ifaces[index];
	if (!strcmp(verb, "quit"))
		return false;
	if (!strcmp(verb, "ue") && !prefix_parse(arg, &prefix))
		printf("ue %d\n", port_ue_prefix_add(iface, &prefix));
	else if (!strcmp(verb, "unue") && !prefix_parse(arg, &prefix))
		printf("unue %d\n", port_ue_prefix_del(iface, &prefix));
	else if (!strcmp(verb, "addr") && !prefix_parse(arg, &prefix))
		printf("addr %d\n", port_local_addr_add(iface, &prefix.addr));
	else if (!strcmp(verb, "unaddr") && !prefix_parse(arg, &prefix))
		printf("unaddr %d\n", port_local_addr_del(iface, &prefix.addr));
	else if (!strcmp(verb, "carrier"))
		printf("carrier %d\n", port_carrier(iface));
	else if (!strcmp(verb, "describe"))
		port_describe(iface, stdout);
	else if (!strcmp(verb, "counters") && !port_counters_get(iface, &c))
		printf("counters %lu %lu %lu\n", c.rx_packets, c.tx_packets, c.rx_missed);
	else if (!strcmp(verb, "tx"))
		tx_hex(iface, worker, arg);
	else
		printf("what? %s\n", line);
	return true;
}

static void serve(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	char line[8192];

	for (;;) {
		rx_poll();
		if (poll(&in, 1, 1) <= 0)
			continue;
		if (!fgets(line, sizeof(line), stdin) || !command(line))
			return;
	}
}

static void eal_begin(struct eal_conf *conf)
{
	struct port_error err;

	conf->n_cpus = n_workers;
	conf->main_cpu = -1;
	for (unsigned i = 0; i < n_workers; i++)
		conf->cpus[i] = (uint16_t)i;
	snprintf(conf->file_prefix, sizeof(conf->file_prefix), "probe%d", getpid());
	if (eal_start(conf, &err))
		die(err.text);
}

static void ports_begin(const struct port_conf *confs, int n)
{
	struct port_error err;

	for (unsigned i = 0; i < n_workers; i++) {
		char name[32];

		snprintf(name, sizeof(name), "probe_%u", i);
		pools[i] = port_mempool_new(name, PROBE_MBUFS, 1500, 256, &err);
		if (!pools[i])
			die(err.text);
	}
	for (int i = 0; i < n; i++) {
		ifaces[n_ifaces] = port_open(&confs[i], n_workers, pools, &err);
		if (!ifaces[n_ifaces])
			die(err.text);
		n_ifaces++;
	}
	for (unsigned i = 0; i < n_ifaces; i++)
		if (port_start(ifaces[i], &err))
			die(err.text);
}

int main(int argc, char **argv)
{
	static const char *const hugepages[] = {"auto", "on", "off", NULL};
	struct eal_conf eal = {.memory_mb = 256};
	struct port_conf confs[PROBE_IFACES];
	int option, n;

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((option = getopt(argc, argv, "w:m:H:v")) != -1) {
		if (option == 'w')
			n_workers = (unsigned)atoi(optarg);
		else if (option == 'm')
			eal.memory_mb = (uint32_t)atoi(optarg);
		else if (option == 'H')
			eal.hugepages = (enum eal_hugepages)word_index(optarg, hugepages);
		else if (option == 'v')
			log_level_set(LOG_LEVEL_DEBUG);
		else
			return 2;
	}
	n = argc - optind;
	if (n < 1 || n > PROBE_IFACES || !n_workers || n_workers > MAX_WORKERS)
		return 2;
	for (int i = 0; i < n; i++) {
		confs[i] = iface_parse(argv[optind + i]);
		if (confs[i].mode == PORT_NATIVE)
			snprintf(eal.pci[eal.n_pci++], sizeof(eal.pci[0]), "%.31s",
				 confs[i].device);
	}
	eal_begin(&eal);
	ports_begin(confs, n);
	printf("ready\n");
	serve();
	for (unsigned i = 0; i < n_ifaces; i++)
		port_stop(ifaces[i]);
	for (unsigned i = 0; i < n_ifaces; i++)
		port_close(ifaces[i]);
	eal_stop();
	printf("bye\n");
	return 0;
}
