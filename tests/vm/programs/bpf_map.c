// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bpf_map PROGRAM-ID MAP INDEX [VALUE]: reads or writes a 64-bit entry of an array map of a
 * loaded BPF program.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_MAPS 16

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static void die(const char *what)
{
	fprintf(stderr, "bpf_map: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void info_of(int fd, void *info, size_t size)
{
	union bpf_attr attr = { .info = { .bpf_fd = (unsigned int)fd,
					  .info_len = (unsigned int)size,
					  .info = (unsigned long)info } };

	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		die("no info");
}

/* The map of a program by its name. */
static int find_map(unsigned int prog_id, const char *name)
{
	union bpf_attr attr = { .prog_id = prog_id };
	unsigned int ids[MAX_MAPS], i;
	struct bpf_prog_info prog = { .nr_map_ids = MAX_MAPS, .map_ids = (unsigned long)ids };
	struct bpf_map_info map;
	int fd;

	fd = bpf(BPF_PROG_GET_FD_BY_ID, &attr);
	if (fd < 0)
		die("no such program");
	info_of(fd, &prog, sizeof(prog));
	for (i = 0; i < prog.nr_map_ids && i < MAX_MAPS; i++) {
		memset(&attr, 0, sizeof(attr));
		attr.map_id = ids[i];
		fd = bpf(BPF_MAP_GET_FD_BY_ID, &attr);
		if (fd < 0)
			die("no such map");
		memset(&map, 0, sizeof(map));
		info_of(fd, &map, sizeof(map));
		if (!strcmp(map.name, name))
			return fd;
		close(fd);
	}
	errno = ENOENT;
	die(name);
	return -1;
}

int main(int argc, char **argv)
{
	unsigned long long value;
	unsigned int index;
	union bpf_attr attr = {};

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: bpf_map PROGRAM-ID MAP INDEX [VALUE]\n");
		return 2;
	}
	index = (unsigned int)strtoul(argv[3], NULL, 0);
	value = argc == 5 ? strtoull(argv[4], NULL, 0) : 0;
	attr.map_fd = (unsigned int)find_map((unsigned int)strtoul(argv[1], NULL, 0), argv[2]);
	attr.key = (unsigned long)&index;
	attr.value = (unsigned long)&value;
	if (bpf(argc == 5 ? BPF_MAP_UPDATE_ELEM : BPF_MAP_LOOKUP_ELEM, &attr))
		die(argv[2]);
	printf("%llu\n", value);
	return 0;
}
