import { dlopen, ptr } from 'bun:ffi'
import { readFileSync } from 'node:fs'

/** The setrlimit(2) resource for private writable memory (`VmData`). */
const RLIMIT_DATA = 2

/** So that the main thread can work while statements use everything below the ceiling. */
const RESERVE_BYTES = 160 * 1024 ** 2
/** The reserve opens when less than this is left below the ceiling. */
const CLOSE_BYTES = 96 * 1024 ** 2

/** Beyond it only an allocation fails (docs/decisions/0021-memory-of-the-process.md). */
export class MemoryCeiling {
  #start: number | null = null
  #limit: number | null = null
  #raisedBytes = 0
  #isInReserve = false

  /** More than now. After JavaScript's reservation, inside which growth does not count. */
  set(moreBytes: number): void {
    const start = dataBytes()
    if (start === null || !limitData(start + moreBytes)) return
    this.#start = start
    this.#limit = start + moreBytes
  }

  /**
   * Raises the ceiling for memory that has its own limit; pass a negative number to lower it again.
   */
  raise(bytes: number): void {
    this.#raisedBytes += bytes
    const reserve = this.#isInReserve ? RESERVE_BYTES : 0
    if (this.#limit === null || !limitData(this.#limit + bytes + reserve)) return
    this.#limit += bytes
  }

  get raisedBytes(): number {
    return this.#raisedBytes
  }

  get isSet(): boolean {
    return this.#limit !== null
  }

  /** Opens it if wanted and little memory is left. @returns whether the reserve is open */
  keepReserve(isWanted: boolean): boolean {
    if (!isWanted && !this.#isInReserve) return false
    const data = this.#limit === null ? null : dataBytes()
    if (this.#limit === null || data === null) return false
    const isNeeded = this.#limit - data < CLOSE_BYTES
    if (isNeeded !== this.#isInReserve && limitData(this.#limit + (isNeeded ? RESERVE_BYTES : 0))) {
      this.#isInReserve = isNeeded
    }
    return this.#isInReserve
  }

  state(): {
    /** Mostly address space that JavaScript reserves at startup; null if unknown. */
    readonly data: number | null
    /** The value of `data` when the ceiling was set. */
    readonly start: number | null
    /** null if the system has no such limit. */
    readonly limit: number | null
  } {
    return { data: dataBytes(), start: this.#start, limit: this.#limit }
  }
}

function dataBytes(): number | null {
  try {
    const kilobytes = /^VmData:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    return kilobytes === undefined ? null : Number(kilobytes) * 1024
  } catch {
    // The system is not Linux.
    return null
  }
}

function limitData(bytes: number): boolean {
  return setSoftLimit(RLIMIT_DATA, BigInt(Math.floor(bytes)))
}

/** Soft: the process may raise it again. False if the system has none. */
function setSoftLimit(resource: number, wanted: bigint): boolean {
  const limits = new BigUint64Array(2)
  if (LIBC === null || LIBC.getrlimit(resource, ptr(limits)) !== 0) return false
  const [, hard = 0n] = limits
  limits[0] = wanted < hard ? wanted : hard
  return LIBC.setrlimit(resource, ptr(limits)) === 0
}

const RLIMIT_FSIZE = 1

/** From all threads of this process. False if that cannot be guaranteed. */
export function forbidFileWrites(): boolean {
  // Without a handler, the first attempt to write would end the process.
  process.on('SIGXFSZ', () => {})
  return setSoftLimit(RLIMIT_FSIZE, 0n)
}

const CALLS = {
  prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' },
  getrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
  setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
} as const

const MUSL_NAMES: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' }

/** The C library, glibc or musl; null on other systems. */
export const LIBC = process.platform === 'linux' ? openedLibrary() : null

function openedLibrary() {
  for (const name of ['libc.so.6', `libc.musl-${MUSL_NAMES[process.arch]}.so.1`]) {
    try {
      return dlopen(name, CALLS).symbols
    } catch {
      // Try the next library.
    }
  }
  return null
}

/** CPU time of the whole process since it started, in milliseconds. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
