// The parts of src/port that ask the system through bytes and files.
//
// The bytes and files are made here, wrong ones too.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "port/backend_native.h"
#include "port/eal.h"
#include "port/netdev.h"
#include "unit.h"

// ---- netdev_decode ----

struct message {
	size_t len;
	union {
		struct nlmsghdr hdr;
		uint8_t bytes[1024];
	};
};

static struct rtattr *attr_add(struct message *m, unsigned short type, const void *value,
			       unsigned short len)
{
	struct rtattr *attr = (void *)(m->bytes + m->len);

	attr->rta_type = type;
	attr->rta_len = (unsigned short)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(attr), value, len);
	m->len += RTA_SPACE((size_t)len);
	m->hdr.nlmsg_len = (uint32_t)m->len;
	return attr;
}

// A nest holds what was added after it.
static void nest_end(struct message *m, struct rtattr *nest)
{
	nest->rta_len = (unsigned short)(m->bytes + m->len - (uint8_t *)nest);
}

static struct message link_message(const char *kind, bool peer_away)
{
	struct message m = {.len = NLMSG_LENGTH(sizeof(struct ifinfomsg))};
	struct ifinfomsg *info = NLMSG_DATA(&m.hdr);
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	uint32_t mtu = 1600, peer = 9, id = 77;
	uint8_t attached = XDP_ATTACHED_SKB;

	m.hdr.nlmsg_type = RTM_NEWLINK;
	info->ifi_index = 5;
	info->ifi_flags = IFF_UP | IFF_RUNNING;
	attr_add(&m, IFLA_IFNAME, "n3", 3);
	attr_add(&m, IFLA_ADDRESS, mac, sizeof(mac));
	attr_add(&m, IFLA_MTU, &mtu, sizeof(mtu));
	attr_add(&m, IFLA_LINK, &peer, sizeof(peer));
	if (peer_away)
		attr_add(&m, IFLA_LINK_NETNSID, &id, sizeof(id));
	struct rtattr *nest = attr_add(&m, IFLA_LINKINFO | NLA_F_NESTED, NULL, 0);
	attr_add(&m, IFLA_INFO_KIND, kind, (unsigned short)(strlen(kind) + 1));
	nest_end(&m, nest);
	nest = attr_add(&m, IFLA_XDP, NULL, 0);
	attr_add(&m, IFLA_XDP_ATTACHED, &attached, sizeof(attached));
	attr_add(&m, IFLA_XDP_PROG_ID, &id, sizeof(id));
	nest_end(&m, nest);
	return m;
}

static void test_link_decode(void)
{
	static const struct {
		const char *kind;
		bool away;
		int peer;
		bool here;
	} rows[] = {
		{"veth", false, 9, true},
		{"veth", true, 9, false},
		{"vlan", false, 0, false}, // IFLA_LINK is then the device below
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct message m = link_message(rows[i].kind, rows[i].away);
		struct netdev d;

		CU_ASSERT_EQUAL_FATAL(netdev_decode(m.bytes, m.len, &d), 0);
		CU_ASSERT_STRING_EQUAL(d.name, "n3");
		CU_ASSERT_EQUAL(d.index, 5);
		CU_ASSERT_EQUAL(d.mtu, 1600);
		CU_ASSERT_TRUE(d.carrier);
		CU_ASSERT_EQUAL(d.mac.addr_bytes[5], 1);
		CU_ASSERT_STRING_EQUAL(d.kind, rows[i].kind);
		CU_ASSERT_EQUAL(d.peer, rows[i].peer);
		CU_ASSERT_EQUAL(d.peer_here, rows[i].here);
		CU_ASSERT_EQUAL(d.xdp, NETDEV_XDP_GENERIC);
		CU_ASSERT_EQUAL(d.xdp_prog_id, 77);
	}
}

// Cut anywhere, and with any length byte changed, it is refused or read within its bounds (ASan).
static void test_link_decode_broken(void)
{
	struct message whole = link_message("veth", true);
	struct netdev d;

	for (size_t len = 0; len < whole.len; len++) {
		uint8_t *cut = malloc(len ? len : 1);

		memcpy(cut, whole.bytes, len);
		CU_ASSERT_EQUAL(netdev_decode(cut, len, &d), -EBADMSG);
		free(cut);
	}
	for (size_t at = NLMSG_HDRLEN; at < whole.len; at++) {
		uint8_t *copy = malloc(whole.len);

		memcpy(copy, whole.bytes, whole.len);
		copy[at] = (uint8_t)~copy[at];
		CU_ASSERT_EQUAL(netdev_decode(copy, whole.len, &d), 0);
		free(copy);
	}
}

static void test_link_error(void)
{
	struct message m = {.len = NLMSG_LENGTH(sizeof(struct nlmsgerr))};
	struct nlmsgerr *fault = NLMSG_DATA(&m.hdr);
	struct netdev d;

	m.hdr.nlmsg_type = NLMSG_ERROR;
	m.hdr.nlmsg_len = (uint32_t)m.len;
	fault->error = -ENODEV;
	CU_ASSERT_EQUAL(netdev_decode(m.bytes, m.len, &d), -ENODEV);
	fault->error = 0; // an acknowledgement is not an answer
	CU_ASSERT_EQUAL(netdev_decode(m.bytes, m.len, &d), -EBADMSG);
}

static void test_no_device(void)
{
	struct netdev d;

	CU_ASSERT_EQUAL(netdev_get("no-such-dev0", &d), -ENODEV);
	CU_ASSERT_EQUAL(netdev_get("", &d), -ENODEV);
	CU_ASSERT_EQUAL(netdev_get("a-name-of-16-chr", &d), -ENODEV);
	CU_ASSERT_EQUAL_FATAL(netdev_get("lo", &d), 0);
	CU_ASSERT_STRING_EQUAL(d.name, "lo");
	CU_ASSERT_NOT_EQUAL(d.index, 0);
}

// ---- what stands in files ----

static char root[] = "/tmp/test_port.XXXXXX";

static void dir_make(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
}

static void file_make(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	FILE *f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

static void link_make(const char *name, const char *to)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	CU_ASSERT_EQUAL_FATAL(symlink(to, path), 0);
}

static void test_hugepages(void)
{
	char path[256];

	dir_make("huge");
	dir_make("huge/hugepages-2048kB");
	file_make("huge/hugepages-2048kB/free_hugepages", "100\n");
	dir_make("huge/hugepages-1048576kB");
	file_make("huge/hugepages-1048576kB/free_hugepages", "2\n");
	dir_make("huge/hugepages-64kB"); // with no number in it
	dir_make("huge/other");
	snprintf(path, sizeof(path), "%s/huge", root);
	CU_ASSERT_EQUAL(eal_hugepages_free_mb(path), 200 + 2048);
	snprintf(path, sizeof(path), "%s/nowhere", root);
	CU_ASSERT_EQUAL(eal_hugepages_free_mb(path), 0);
}

static void test_pci(void)
{
	static const struct {
		const char *pci;
		int want;
		const char *text;
	} rows[] = {
		{"eth0", -EINVAL, "lspci -D"},
		{"0000:01:00.0x", -EINVAL, "lspci -D"},
		{"01:00.0", -EINVAL, "lspci -D"},
		{"0000:01:00.9", -ENODEV, "no such PCI device"},
		{"0000:01:00.0", 0, ""},
		{"0000:01:00.1", -EBUSY, "i40e has this device as enp1s0f1"},
		{"0000:01:00.2", -ENODEV, "no driver is bound"},
	};

	dir_make("pci");
	for (int i = 0; i < 3; i++) {
		char name[64];

		snprintf(name, sizeof(name), "pci/0000:01:00.%d", i);
		dir_make(name);
	}
	link_make("pci/0000:01:00.0/driver", "../../drivers/vfio-pci");
	link_make("pci/0000:01:00.1/driver", "../../drivers/i40e");
	dir_make("pci/0000:01:00.1/net");
	dir_make("pci/0000:01:00.1/net/enp1s0f1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct port_error err = {""};
		char path[256];

		snprintf(path, sizeof(path), "%s/pci", root);
		CU_ASSERT_EQUAL(native_pci_check(path, rows[i].pci, &err), rows[i].want);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, rows[i].text));
	}
}

static void test_pci_uio(void)
{
	static const struct {
		const char *pci;
		bool want;
	} rows[] = {
		{"0000:01:00.0", false}, // vfio-pci, as above
		{"0000:01:00.1", false},
		{"0000:01:00.2", false}, // none
		{"0000:01:00.3", true},
	};
	char path[256];

	dir_make("pci/0000:01:00.3");
	link_make("pci/0000:01:00.3/driver", "../../drivers/uio_pci_generic");
	snprintf(path, sizeof(path), "%s/pci", root);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_EQUAL(native_pci_is_uio(path, rows[i].pci), rows[i].want);
}

static void test_pci_claim(void)
{
	struct port_error err = {""};
	char path[256];
	int first, other;

	snprintf(path, sizeof(path), "%s/pci", root);
	first = native_pci_claim(path, "0000:01:00.0", &err);
	CU_ASSERT_FATAL(first >= 0);
	CU_ASSERT_EQUAL(native_pci_claim(path, "0000:01:00.0", &err), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "another sluiced uses this device"));
	other = native_pci_claim(path, "0000:01:00.1", &err);
	CU_ASSERT(other >= 0);
	close(other);
	close(first);
	first = native_pci_claim(path, "0000:01:00.0", &err);
	CU_ASSERT(first >= 0);
	close(first);
	CU_ASSERT_EQUAL(native_pci_claim(path, "0000:01:00.9", &err), -ENOENT);
}

static void test_root_make(void)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
}

static void test_root_remove(void)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -r %s", root);
	CU_ASSERT_EQUAL(system(command), 0);
}

static CU_TestInfo tests[] = {
	{"link decode", test_link_decode},
	{"link decode, broken", test_link_decode_broken},
	{"link error", test_link_error},
	{"no device", test_no_device},
	{"files", test_root_make},
	{"hugepages", test_hugepages},
	{"pci", test_pci},
	{"pci, uio", test_pci_uio},
	{"pci, claimed", test_pci_claim},
	{"files are removed", test_root_remove},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("port")
