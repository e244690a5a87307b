/** Watches the ingested files for changes. */

import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { watch } from 'chokidar'
import { errorText } from '../../core/errors.ts'
import type { CommandContext } from '../command.ts'
import { type LocalIngest, sendAll } from './ingest-progress.ts'
import { documentIdOf, type FileRoot, isLeftOut, isWanted, type LocalFile } from './local-files.ts'
import { type IngestCounts, noCounts } from './send-files.ts'

/** Editors write a file in several steps, so a file must be unchanged this long. */
const QUIET_MS = 300
/** Files that keep changing are read after this time at the latest. */
const WAITING_MS_MAX = 2000

/** Resolves when the signal aborts. @param report called after each pass that changed something */
export async function watchLocal(
  ingest: LocalIngest,
  context: CommandContext,
  report: (pass: IngestCounts) => Promise<void>,
): Promise<void> {
  const { roots, rules } = ingest
  const { output, signal } = context
  const named = new Set(roots.map((root) => root.path))
  const watcher = watch([...named], {
    ignoreInitial: true,
    followSymlinks: false,
    ignored: (path) => !named.has(path) && isLeftOut(basename(path), rules),
  })
  const changes = new Changes(signal)
  watcher.on('all', (_event, path) => changes.add(path))
  watcher.on('error', (error) => {
    output.warn(`Watching: ${errorText(error)}`)
  })
  const ready = new Promise<void>((resolve) => watcher.once('ready', () => resolve()))
  try {
    await Promise.race([ready, changes.stopped])
    output.warn('Watching for changes; press Ctrl-C to stop')
    for (;;) {
      const paths = await changes.next()
      if (paths === null) return
      const pass = noCounts()
      await step(paths, ingest, pass, context)
      if (pass.stored + pass.removed + pass.failed.length > 0) await report(pass)
    }
  } catch (error) {
    // Stopping the watch is intended, so it is not a failure.
    if (!signal.aborted) throw error
  } finally {
    await watcher.close()
  }
}

class Changes {
  readonly stopped: Promise<null>
  #paths = new Set<string>()
  /** When the first of these changes arrived. */
  #firstAt = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #quiet = Promise.withResolvers<void>()

  constructor(signal: AbortSignal) {
    this.stopped = new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(null), { once: true })
      if (signal.aborted) resolve(null)
    })
  }

  add(path: string): void {
    const now = performance.now()
    if (this.#paths.size === 0) this.#firstAt = now
    this.#paths.add(path)
    clearTimeout(this.#timer)
    const waitMs = Math.min(QUIET_MS, Math.max(0, this.#firstAt + WAITING_MS_MAX - now))
    this.#timer = setTimeout(() => this.#quiet.resolve(), waitMs)
  }

  /** Returns null at the end of the watch. */
  async next(): Promise<readonly string[] | null> {
    const isOver = (await Promise.race([this.#quiet.promise, this.stopped])) === null
    if (isOver) {
      clearTimeout(this.#timer)
      return null
    }
    const paths = [...this.#paths]
    this.#paths = new Set()
    this.#quiet = Promise.withResolvers()
    return paths
  }
}

async function step(
  paths: readonly string[],
  ingest: LocalIngest,
  counts: IngestCounts,
  context: CommandContext,
): Promise<void> {
  const { roots, rules, known } = ingest
  const changed = new Map<string, LocalFile>()
  const gone = new Set<string>()
  for (const path of paths) {
    const root = rootOf(path, roots)
    if (root === undefined) continue
    const id = documentIdOf(path, root)
    const found = await stat(path).catch(() => null)
    if (found === null) {
      // Deleting a folder also deletes the files in it.
      for (const one of known.paths) if (one === id || one.startsWith(`${id}/`)) gone.add(one)
    } else if (
      found.isFile() &&
      found.size > 0 &&
      (root.path === path || isWanted(path, root, rules))
    ) {
      changed.set(id, { path, id, sizeBytes: found.size })
    }
  }
  if (changed.size > 0) await sendAll([...changed.values()], ingest, counts, context)
  const removed = [...gone].filter((id) => !changed.has(id))
  await known.remove(removed, context.signal)
  counts.removed += removed.length
}

function rootOf(path: string, roots: readonly FileRoot[]): FileRoot | undefined {
  return roots.find((root) => path === root.path || path.startsWith(`${root.path}/`))
}
