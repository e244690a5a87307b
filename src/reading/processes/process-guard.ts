import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ProcessLimits, STOPPED_FILE, type StopReason } from './reading-messages.ts'

export type GuardedJob = { readonly folder: string; readonly limits: ProcessLimits } | null

const LOOK_MS = 20
const LOOK_AT_FILES_EVERY = 10

interface GuardDeps {
  residentBytes(): number
  /** The CPU time of the whole process since its start. */
  cpuMs(): number
  parentId(): number
  end(): void
}

/** In a thread, so that it ends the process even if the main thread is busy. */
export class ProcessGuard {
  readonly #deps: GuardDeps
  readonly #parentId: number
  #job: GuardedJob = null
  #timer: ReturnType<typeof setInterval> | null = null
  #lookCount = 0
  #cpuMsBefore = 0

  constructor(deps: GuardDeps) {
    this.#deps = deps
    this.#parentId = deps.parentId()
  }

  watch(job: GuardedJob): void {
    this.#job = job
    this.#cpuMsBefore = this.#deps.cpuMs()
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = job === null ? null : setInterval(() => this.look(), LOOK_MS)
  }

  look(): void {
    const { residentBytes, cpuMs, parentId, end } = this.#deps
    if (this.#job === null) return
    const { folder, limits } = this.#job
    this.#lookCount += 1
    if (parentId() !== this.#parentId) end()
    else if (residentBytes() > limits.memoryBytes) this.#stop(folder, 'memory')
    else if (cpuMs() - this.#cpuMsBefore > (limits.cpuMs ?? Infinity)) this.#stop(folder, 'cpu')
    else if (this.#lookCount % LOOK_AT_FILES_EVERY === 0) {
      if (sizeOf(folder) > limits.outputBytes) this.#stop(folder, 'output')
    }
  }

  #stop(folder: string, reason: StopReason): void {
    try {
      writeFileSync(join(folder, STOPPED_FILE), reason)
    } finally {
      this.#deps.end()
    }
  }
}

/** Includes subfolders. Files that disappear in the meantime do not count. */
function sizeOf(folder: string): number {
  try {
    return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
      const path = join(folder, entry.name)
      return sum + (entry.isDirectory() ? sizeOf(path) : sizeOfFile(path))
    }, 0)
  } catch {
    return 0
  }
}

function sizeOfFile(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}
