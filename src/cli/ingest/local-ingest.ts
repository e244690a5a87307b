/** Loads files of this machine into a knowledge base, and removes those that are gone. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { CommandContext, NamedObject } from '../command.ts'
import { progressOf } from './ingest-progress.ts'
import {
  type FileRoot,
  type FileRules,
  findFiles,
  isBelowRoot,
  type LocalFile,
} from './local-files.ts'
import { type IngestCounts, type KnownFiles, sendFiles } from './send-files.ts'

export interface LocalIngest {
  readonly kb: NamedObject
  readonly known: KnownFiles
  readonly roots: readonly FileRoot[]
  readonly rules: FileRules
  readonly isReplacing: boolean
  readonly isRemoving: boolean
  readonly fields: Readonly<Record<string, string>>
}

type Parts = Pick<CommandContext, 'client' | 'output' | 'signal'>

export async function ingestLocal(
  ingest: LocalIngest,
  counts: IngestCounts,
  context: Parts,
): Promise<void> {
  const { roots, rules, isRemoving, known } = ingest
  const { output, signal } = context
  const named = roots.filter((root) => root.kind !== 'file' || existsSync(root.path))
  const found = await findFiles(named, rules, signal)
  for (const { path, message } of found.failed) {
    counts.failed.push({ path, code: 'file_failed', message })
  }
  counts.left_out = found.leftOut
  counts.skipped = found.leftOutCount
  if (found.files.length === 0) output.say('There is nothing to read there')
  await sendAll(found.files, ingest, counts, context)
  if (!isRemoving) return
  const present = new Set(found.files.map(({ id }) => id))
  const gone = known.paths.filter((id) => {
    // An existing file that the rules leave out, or an unreadable one, has not vanished.
    const root = roots.find((one) => isBelowRoot(id, one))
    return root !== undefined && !present.has(id) && !existsSync(resolve(root.base, id))
  })
  await known.remove(gone, signal)
  counts.removed += gone.length
}

export async function sendAll(
  files: readonly LocalFile[],
  { kb, known, isReplacing, fields }: LocalIngest,
  counts: IngestCounts,
  context: Parts,
): Promise<void> {
  const progress = await progressOf({ files, counts }, context.output)
  const onFile = (file: LocalFile) => progress.step(file)
  try {
    await sendFiles(files, { kb, known, counts, isReplacing, fields, onFile }, context)
  } finally {
    progress.stop()
  }
}
