/*
 * Preloaded by faults.test.ts: one call that writes to a file below FAULT_FOLDER fails, the FAULT_AT-th, and with
 * FAULT_STAYS=1 every later one too. FAULT_KIND is ENOSPC, EIO or SHORT (half of the bytes are written, without an error).
 * FAULT_COUNT_FILE holds how many such calls there were.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long count = 0;

static void tell(long number) {
  const char *path = getenv("FAULT_COUNT_FILE");
  if (path == NULL) return;
  FILE *file = fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%ld\n", number);
  fclose(file);
}

static int is_path_ours(const char *path) {
  const char *folder = getenv("FAULT_FOLDER");
  return folder != NULL && path != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_file_ours(int file) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_path_ours(path);
}

enum fault { NONE, FAIL, SHORT };

static enum fault next_fault(void) {
  long number = __sync_add_and_fetch(&count, 1);
  tell(number);
  const char *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND"), *stays = getenv("FAULT_STAYS");
  if (at == NULL || kind == NULL) return NONE;
  long wanted = atol(at);
  int hits = number == wanted || (stays != NULL && stays[0] == '1' && number > wanted);
  if (!hits) return NONE;
  if (strcmp(kind, "SHORT") == 0) return SHORT;
  errno = strcmp(kind, "EIO") == 0 ? EIO : ENOSPC;
  return FAIL;
}

#define REAL(name) \
  static __typeof__(name) *real = NULL; \
  if (real == NULL) real = dlsym(RTLD_NEXT, #name)

#define WRITES(condition, call_whole, call_short) \
  if (!(condition)) return call_whole; \
  enum fault fault = next_fault(); \
  if (fault == FAIL) return -1; \
  return fault == SHORT && size > 1 ? call_short : call_whole;

ssize_t write(int file, const void *bytes, size_t size) {
  REAL(write);
  WRITES(is_file_ours(file), real(file, bytes, size), real(file, bytes, size / 2))
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
  REAL(pwrite);
  WRITES(is_file_ours(file), real(file, bytes, size, at), real(file, bytes, size / 2, at))
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at) {
  REAL(pwrite64);
  WRITES(is_file_ours(file), real(file, bytes, size, at), real(file, bytes, size / 2, at))
}

#define FAILS(condition, call) \
  if ((condition) && next_fault() == FAIL) return -1; \
  return call;

int fsync(int file) {
  REAL(fsync);
  FAILS(is_file_ours(file), real(file))
}

int fdatasync(int file) {
  REAL(fdatasync);
  FAILS(is_file_ours(file), real(file))
}

/* A file that becomes shorter needs no space. */
static int may_truncate_fail(int file, off64_t size) {
  const char *kind = getenv("FAULT_KIND");
  struct stat now;
  if (!is_file_ours(file)) return 0;
  return kind == NULL || strcmp(kind, "ENOSPC") != 0 || fstat(file, &now) != 0 || size > now.st_size;
}

int ftruncate(int file, off_t size) {
  REAL(ftruncate);
  FAILS(may_truncate_fail(file, size), real(file, size))
}

int ftruncate64(int file, off64_t size) {
  REAL(ftruncate64);
  FAILS(may_truncate_fail(file, size), real(file, size))
}

int rename(const char *from, const char *to) {
  REAL(rename);
  FAILS(is_path_ours(to), real(from, to))
}
