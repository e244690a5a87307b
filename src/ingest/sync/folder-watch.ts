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
      const { path } = await openFolder(this.#options.path, this.#options.roots)
      if (this.#ending.signal.aborted) return
      const watcher = watch(path, { recursive: true, persistent: false })
      this.#watcher = watcher
      watcher.on('change', () => this.#changed())
      const end = (error: unknown) => {
        this.#lost(error)
        this.#pollLater()
      }
      watcher.on('error', end)
      watcher.on('close', () => end(null))
    } catch (error) {
      this.#lost(error)
    }
  }

  #lost(error: unknown): void {
    if (this.#ending.signal.aborted) return
    this.#watcher?.close()
    this.#watcher = null
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
    const everyMs = this.#watcher === null ? this.#options.pollMs : SAFETY_MS
    this.#poll = setTimeout(() => void this.#look(), Math.max(everyMs, tookMs * POLLING_SHARE))
    this.#poll.unref()
  }

  async #look(): Promise<void> {
    const startedAt = performance.now()
    // Watch first, so that no change falls between the scan and the first event.
    if (this.#watcher === null) await this.#watch()
    const digest = await this.#digestNow()
    if (this.#ending.signal.aborted) return
    if (digest !== this.#digest) this.#changed()
    this.#digest = digest
    this.#pollLater(performance.now() - startedAt)
  }

  async #digestNow(): Promise<string> {
    const { path, roots, rules } = this.#options
    try {
      const folder = await openFolder(path, roots)
      const { files } = await listFolder(folder, rules, this.#ending.signal)
      const hasher = createHash('sha256')
      for (const { item, stamp } of files) hasher.update(`${item}\0${stamp}\0`)
      return hasher.digest('base64url')
    } catch {
      return 'away'
    }
  }
}
