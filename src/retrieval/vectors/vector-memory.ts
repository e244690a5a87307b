import { AppError } from '../../core/errors.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { PAGE_BYTES, slotLayout, VECTOR_LIMITS } from '../kernel/memory-layout.ts'
import { type KernelChoice, openKernel } from '../kernel/open-kernel.ts'

export interface ScanSharing {
  /** Bytes of codes that the calling thread scans itself. */
  readonly inlineBytesMax: number
  /** Idle threads share a search in parts of at least this many bytes of codes. */
  readonly partBytesMin: number
}

/** Blocks have 2^n pages. Memory grows by the largest block. */
export const BLOCK_BYTES_MAX = 16 * 1024 ** 2
const ORDER_MAX = Math.log2(BLOCK_BYTES_MAX / PAGE_BYTES)

/** Only one: JavaScriptCore (Bun 1.4.4) slows scans 1.6 times from a process's ninth memory on. */
export class VectorMemory {
  readonly memory: WebAssembly.Memory
  readonly kernelChoice: KernelChoice
  readonly kernel: Kernel
  readonly threadCount: number
  readonly sharing: ScanSharing
  /** Whether scans of the same rows are joined. */
  readonly looksTogether: boolean
  readonly #bytesMax: number
  readonly #onTaking: (bytes: number) => void
  readonly #start: number
  #end: number
  #usedBytes = 0
  #reservedBytes = 0
  /** For each order n: the starts of free blocks of 2^n pages. */
  readonly #free: readonly Set<number>[]

  /** @throws AppError `out_of_memory` if not even the addresses can be reserved */
  constructor(asked: {
    readonly bytesMax: number
    /** The number of scan threads besides the calling one. */
    readonly threadCount: number
    readonly kernel?: KernelChoice
    readonly sharing?: ScanSharing
    /** Before memory is taken from the system; negative when it is returned. */
    readonly onTaking?: (bytes: number) => void
  }) {
    const {
      bytesMax,
      threadCount,
      kernel = 'fastest',
      sharing = VECTOR_LIMITS,
      onTaking = () => {},
    } = asked
    this.#onTaking = onTaking
    this.threadCount = threadCount
    this.kernelChoice = kernel
    this.#start = slotLayout(threadCount * VECTOR_LIMITS.batchMax).end
    this.#end = this.#start
    this.#bytesMax = Math.min(bytesMax, VECTOR_LIMITS.memoryBytesMax - this.#start)
    this.#free = Array.from({ length: ORDER_MAX + 1 }, () => new Set<number>())
    // Whole blocks only.
    const blockCount = Math.max(0, Math.floor(this.#bytesMax / BLOCK_BYTES_MAX))
    const maximum = (this.#start + blockCount * BLOCK_BYTES_MAX) / PAGE_BYTES
    // JavaScriptCore (Bun 1.4.4) briefly makes all of it writable before it undoes that.
    onTaking(maximum * PAGE_BYTES)
    try {
      this.memory = new WebAssembly.Memory({
        initial: this.#start / PAGE_BYTES,
        maximum,
        shared: true,
      })
    } catch (cause) {
      throw new AppError('out_of_memory', 'No memory for vector search', { cause })
    } finally {
      onTaking(this.#start - maximum * PAGE_BYTES)
    }
    this.kernel = openKernel(this.memory, 0, kernel)
    this.looksTogether = this.kernel.joinLook() !== 0
    this.sharing = sharing
  }

  /** The bytes of blocks and reservations that indexes hold, without freed memory. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Rounded up to a power of two. @throws AppError `out_of_memory`; nothing changes then */
  allocate(bytes: number): Block {
    const order = orderFor(bytes)
    const found = this.#free.findIndex((blocks, index) => index >= order && blocks.size > 0)
    if (found === -1) this.#grow()
    const from = found === -1 ? ORDER_MAX : found
    const [address] = this.#free[from] ?? []
    if (address === undefined) throw new Error('memory has grown and has no free block')
    this.#free[from]?.delete(address)
    for (let half = from - 1; half >= order; half--) {
      this.#free[half]?.add(address + PAGE_BYTES * 2 ** half)
    }
    this.#usedBytes += PAGE_BYTES * 2 ** order
    return { address, bytes: PAGE_BYTES * 2 ** order }
  }

  /** Memory outside of this one. @throws AppError `out_of_memory`; nothing changes then */
  reserve(bytes: number): void {
    if (this.#end - this.#start + this.#reservedBytes + bytes > this.#bytesMax) throw this.#full()
    this.#onTaking(bytes)
    this.#reservedBytes += bytes
    this.#usedBytes += bytes
  }

  unreserve(bytes: number): void {
    this.#onTaking(-bytes)
    this.#reservedBytes -= bytes
    this.#usedBytes -= bytes
  }

  release({ address, bytes }: Block): void {
    this.#usedBytes -= bytes
    let start = address
    let order = orderFor(bytes)
    for (; order < ORDER_MAX; order++) {
      const size = PAGE_BYTES * 2 ** order
      const offset = start - this.#start
      const buddy = this.#start + ((offset / size) % 2 === 0 ? offset + size : offset - size)
      if (!this.#free[order]?.delete(buddy)) break
      start = Math.min(start, buddy)
    }
    this.#free[order]?.add(start)
  }

  #grow(): void {
    const taken = this.#end - this.#start
    if (taken + this.#reservedBytes + BLOCK_BYTES_MAX > this.#bytesMax) throw this.#full()
    this.#onTaking(BLOCK_BYTES_MAX)
    try {
      this.memory.grow(BLOCK_BYTES_MAX / PAGE_BYTES)
    } catch (cause) {
      this.#onTaking(-BLOCK_BYTES_MAX)
      throw new AppError('out_of_memory', 'No more memory for vector search', { cause })
    }
    this.#free[ORDER_MAX]?.add(this.#end)
    this.#end += BLOCK_BYTES_MAX
  }

  #full(): AppError {
    const limit = `its limit is ${this.#bytesMax} bytes`
    return new AppError('out_of_memory', `The memory for vector search is full: ${limit}`)
  }
}

export interface Block {
  readonly address: number
  readonly bytes: number
}

function orderFor(bytes: number): number {
  const order = Math.max(0, Math.ceil(Math.log2(bytes / PAGE_BYTES)))
  if (order > ORDER_MAX) throw new Error(`a block of ${bytes} bytes is too large`)
  return order
}
