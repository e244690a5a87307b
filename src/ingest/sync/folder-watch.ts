import { createHash } from 'node:crypto'
import { type FSWatcher, watch } from 'node:fs'
import { AppError, systemCodeOf } from '../../core/errors.ts'
import { type FolderRules, listFolder, openFolder } from './folder-walk.ts'

interface FolderWatchOptions {
  readonly path: string
  readonly roots: readonly string[]
  readonly rules: FolderRules
  /** Called `quietMs` after the last change, or `patienceMs` after the first. */
  readonly onChange: () => void
  readonly quietMs: number
  readonly patienceMs: number
  /** The time between two scans of all files, if the system does not report changes. */
  readonly pollMs: number
}

/** Scan all files this often in any case, because the system may lose events. */
const SAFETY_MS = 300_000
const AWAY = 'away'
/** Scans take at most one part in this many of the time. */
const POLLING_SHARE = 20

const WATCH_FAILURES: Readonly<Record<string, string>> = {
  ENOSPC: 'the system can watch no more folders (fs.inotify.max_user_watches)',
  EMFILE: 'the system can watch no more folders (fs.inotify.max_user_instances)',
}

/** Reports changes in a folder, from system events or by repeated scans. */
export class FolderWatch {
  readonly #options: FolderWatchOptions
  readonly #ending = new AbortController()
  #watcher: FSWatcher | null = null
  #note: string | null = null
  #quiet: ReturnType<typeof setTimeout> | undefined
  #poll: ReturnType<typeof setTimeout> | undefined
  #firstAt = 0
  #digest: string | null = null
  #scannedAt = Number.NEGATIVE_INFINITY
  #identity = AWAY

  constructor(options: FolderWatchOptions) {
    this.#options = options
  }

  start(): void {
    void this.#look()
  }

  get mode(): 'events' | 'polling' {
    return this.#watcher === null ? 'polling' : 'events'
  }

  get note(): string | null {
    return this.#watcher === null ? this.#note : null
  }

  close(): void {
    this.#ending.abort(new AppError('shutting_down', 'The folder is no longer watched'))
    this.#watcher?.close()
    this.#watcher = null
    clearTimeout(this.#quiet)
    clearTimeout(this.#poll)
  }

  async #watch(): Promise<void> {
    try {
      const { path, identity } = await this.#open()
      if (this.#ending.signal.aborted) return
      this.#identity = identity
      const watcher = watch(path, { recursive: true, persistent: false })
      this.#watcher = watcher
      watcher.on('change', () => this.#changed())
      const end = (error: unknown) => {
        if (this.#watcher === watcher) this.#lost(error)
      }
      watcher.on('error', end)
      watcher.on('close', () => end(null))
    } catch (error) {
      this.#lost(error)
    }
  }

  #lost(error: unknown): void {
    if (this.#ending.signal.aborted) return
    const watcher = this.#watcher
    this.#watcher = null
    watcher?.close()
    const code = systemCodeOf(error) ?? ''
    const why =
      WATCH_FAILURES[code] ?? (error instanceof Error ? error.message : 'the folder is gone')
    this.#note = `All files are checked every ${this.#options.pollMs / 1000} s: ${why}`
  }

  #changed(): void {
    const now = performance.now()
    if (this.#quiet === undefined) this.#firstAt = now
    clearTimeout(this.#quiet)
    const { quietMs, patienceMs, onChange } = this.#options
    const waitMs = Math.max(0, Math.min(quietMs, this.#firstAt + patienceMs - now))
    this.#quiet = setTimeout(() => {
      this.#quiet = undefined
      onChange()
    }, waitMs)
    this.#quiet.unref()
  }

  #pollLater(tookMs = 0): void {
    if (this.#ending.signal.aborted) return
    clearTimeout(this.#poll)
    const waitMs = Math.max(this.#options.pollMs, tookMs * POLLING_SHARE)
    this.#poll = setTimeout(() => void this.#look(), waitMs)
    this.#poll.unref()
  }

  async #look(): Promise<void> {
    const startedAt = performance.now()
    // The system reports nothing of a folder that took the place of the watched one.
    if (this.#watcher !== null && (await this.#identityNow()) !== this.#identity) this.#lost(null)
    const isDue = this.#watcher === null || startedAt - this.#scannedAt >= SAFETY_MS
    // Watch first, so that no change falls between the scan and the first event.
    if (this.#watcher === null) await this.#watch()
    if (isDue) await this.#scan()
    this.#pollLater(performance.now() - startedAt)
  }

  async #scan(): Promise<void> {
    this.#scannedAt = performance.now()
    const digest = await this.#digestNow()
    if (this.#ending.signal.aborted) return
    if (digest !== this.#digest) this.#changed()
    this.#digest = digest
  }

  #open() {
    return openFolder(this.#options.path, this.#options.roots)
  }

  #identityNow(): Promise<string> {
    return this.#open().then(
      ({ identity }) => identity,
      () => AWAY,
    )
  }

  async #digestNow(): Promise<string> {
    try {
      const folder = await this.#open()
      const { files } = await listFolder(folder, this.#options.rules, this.#ending.signal)
      const hasher = createHash('sha256')
      for (const { item, stamp } of files) hasher.update(`${item}\0${stamp}\0`)
      return hasher.digest('base64url')
    } catch {
      return AWAY
    }
  }
}
