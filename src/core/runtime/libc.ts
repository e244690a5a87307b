import { dlopen } from 'bun:ffi'

/** What Linux does for a process that asks. */
const CALLS = {
  prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' },
  getrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
  setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
} as const

const MUSL_NAMES: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' }

/** Of the GNU library or musl; null on other systems. */
export const LIBC = process.platform === 'linux' ? opened() : null

function opened() {
  for (const name of ['libc.so.6', `libc.musl-${MUSL_NAMES[process.arch]}.so.1`]) {
    try {
      return dlopen(name, CALLS).symbols
    } catch {
      // The other one, perhaps.
    }
  }
  return null
}
