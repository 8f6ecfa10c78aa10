/* Lets the second kernel, user-mode Linux of 6.1, run on processors with AMX.
 *
 * It keeps less of its processes' extended processor state (XSAVE) than such a processor has, and
 * Linux refuses to set a part of it (EFAULT). So the part is laid over what there is. Preloaded
 * into the second kernel, which calls ptrace from one thread, on a stack that has no room for the
 * whole state. */
#define _GNU_SOURCE
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* XTILEDATA alone has 8 KiB. */
static char state[16384];

static void lay_over_whole(pid_t process, void *kind, void **data) {
  static struct iovec whole;
  const struct iovec *part = *data;
  whole = (struct iovec){state, sizeof state};
  if (syscall(SYS_ptrace, PTRACE_GETREGSET, process, kind, &whole) == 0 &&
      part->iov_len < whole.iov_len) {
    memcpy(state, part->iov_base, part->iov_len);
    *data = &whole;
  }
}

long ptrace(enum __ptrace_request request, ...) {
  va_list arguments;
  va_start(arguments, request);
  pid_t process = va_arg(arguments, pid_t);
  void *address = va_arg(arguments, void *);
  void *data = va_arg(arguments, void *);
  va_end(arguments);
  if (request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE) {
    lay_over_whole(process, address, &data);
  }
  long word;
  switch (request) {
  /* The library returns what the system call stores. */
  case PTRACE_PEEKTEXT:
  case PTRACE_PEEKDATA:
  case PTRACE_PEEKUSER:
    return syscall(SYS_ptrace, request, process, address, &word) < 0 ? -1 : word;
  default:
    return syscall(SYS_ptrace, request, process, address, data);
  }
}
