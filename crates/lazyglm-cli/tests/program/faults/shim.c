/* Faults for a program under test: loaded before the C library (LD_PRELOAD), it makes some calls fail.
 *
 * FAULT=short         reads and writes of files move at most seven bytes
 * FAULT=eintr         every second read and write of a file is interrupted
 * FAULT=CALL:K        the K-th read, write, link or fsync of a file fails with EIO
 * FAULT=clock         both clocks jump by hours, forwards and backwards
 *
 * Standard streams are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static _Atomic unsigned calls;

static const char *fault(void) {
    const char *asked = getenv("FAULT");
    return asked ? asked : "";
}

/* Whether this call fails: sets errno. */
static int fails(const char *call) {
    const char *asked = fault();
    size_t length = strlen(call);
    if (!strncmp(asked, call, length) && asked[length] == ':')
        if (++calls == (unsigned)atoi(asked + length + 1)) return errno = EIO, 1;
    if (!strcmp(asked, "eintr") && (!strcmp(call, "read") || !strcmp(call, "write")))
        if (++calls % 2) return errno = EINTR, 1;
    return 0;
}

static size_t most(size_t count) { return !strcmp(fault(), "short") && count > 7 ? 7 : count; }

#define NEXT(name) __typeof__(name) *next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *bytes, size_t count) {
    NEXT(write);
    if (fd <= 2) return next(fd, bytes, count);
    return fails("write") ? -1 : next(fd, bytes, most(count));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    NEXT(writev);
    if (fd <= 2) return next(fd, parts, count);
    return fails("write") ? -1 : next(fd, parts, !strcmp(fault(), "short") && count > 1 ? 1 : count);
}

ssize_t read(int fd, void *bytes, size_t count) {
    NEXT(read);
    if (fd <= 2) return next(fd, bytes, count);
    return fails("read") ? -1 : next(fd, bytes, most(count));
}

ssize_t pread64(int fd, void *bytes, size_t count, off64_t at) {
    NEXT(pread64);
    return fails("read") ? -1 : next(fd, bytes, most(count), at);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    NEXT(linkat);
    return fails("link") ? -1 : next(from_folder, from, to_folder, to, flags);
}

int fsync(int fd) {
    NEXT(fsync);
    return fails("fsync") ? -1 : next(fd);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    NEXT(clock_gettime);
    int done = next(clock, now);
    if (!strcmp(fault(), "clock")) {
        static const long hours[] = {0, 5, -3, 700, -700, 1, 0, -9};
        now->tv_sec += 3600 * hours[++calls % 8];
    }
    return done;
}
