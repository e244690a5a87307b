import { dlopen, ptr } from 'bun:ffi'
import { readFileSync } from 'node:fs'

/** For setrlimit(2): private writable memory, as `VmData` in `/proc/self/status` counts it. */
const RLIMIT_DATA = 2

/** Beyond the ceiling, for the main thread while statements stay just below it. */
const RESERVE_BYTES = 160 * 1024 ** 2
/** Left below the ceiling when the reserve opens. */
const CLOSE_BYTES = 96 * 1024 ** 2

/**
 * A limit on this process's memory that the kernel keeps: beyond it an allocation fails, and only the statement that
 * needed it ends (docs/decisions/0021-memory-of-the-process.md).
 */
export class MemoryCeiling {
  #start: number | null = null
  #limit: number | null = null
  #raisedBytes = 0
  #isInReserve = false

  /**
   * Lets the process take this much more memory. To be called once JavaScript has reserved its own space, in which it then
   * grows without being counted.
   */
  set(moreBytes: number): void {
    const start = dataBytes()
    if (start === null || !limitData(start + moreBytes)) return
    this.#start = start
    this.#limit = start + moreBytes
  }

  /** The same for memory with its own limit, before it is used; negative when returned. */
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

  /**
   * Opens the reserve if it is needed and little is left below the ceiling, and closes it once there is enough again.
   * @returns whether the reserve is open
   */
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
    /** Mostly address space that JavaScript reserves at startup. null: unknown. */
    readonly data: number | null
    /** `data` when the ceiling was set. */
    readonly start: number | null
    /** null: the system has no such limit. */
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
    // Not Linux.
    return null
  }
}

function limitData(bytes: number): boolean {
  return setSoftLimit(RLIMIT_DATA, BigInt(Math.floor(bytes)))
}

/** The process may raise it again. False: the system has no such limit. */
function setSoftLimit(resource: number, wanted: bigint): boolean {
  const limits = new BigUint64Array(2)
  if (LIBC === null || LIBC.getrlimit(resource, ptr(limits)) !== 0) return false
  const [, hard = 0n] = limits
  limits[0] = wanted < hard ? wanted : hard
  return LIBC.setrlimit(resource, ptr(limits)) === 0
}

const RLIMIT_FSIZE = 1

/** Prevents all threads of this process from writing to files. False: the system cannot guarantee it. */
export function forbidFileWrites(): boolean {
  // Otherwise the first attempt would end the process.
  process.on('SIGXFSZ', () => {})
  return setSoftLimit(RLIMIT_FSIZE, 0n)
}

/** Linux system calls. */
const CALLS = {
  prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' },
  getrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
  setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
} as const

const MUSL_NAMES: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' }

/** GNU's library or musl; null on other systems. */
export const LIBC = process.platform === 'linux' ? openedLibrary() : null

function openedLibrary() {
  for (const name of ['libc.so.6', `libc.musl-${MUSL_NAMES[process.arch]}.so.1`]) {
    try {
      return dlopen(name, CALLS).symbols
    } catch {
      // Try the other one.
    }
  }
  return null
}

/** Processor time of the whole process since its start, in milliseconds. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
