import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ReadFile, SentFile, SourceFile } from '../../src/core/domain/ports/reading-ports.ts'
import type { NewFile } from '../../src/core/domain/ports/store-ports.ts'
import type { FileFormat, UploadedFile } from '../../src/core/domain/uploaded-file.ts'
import type { ReadingNotes } from '../../src/reading/document-format.ts'
import { readFile } from '../../src/reading/processes/read-file.ts'
import type { Store } from '../../src/store/store.ts'

/** Reads a file in this process. Other tests cover the real reader. */
export async function readDirectly<T>(
  source: SourceFile | SentFile,
  use: (file: ReadFile) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'eider-direct-'))
  try {
    const path = 'path' in source ? source.path : join(folder, 'source')
    if ('bytes' in source) await writeFile(path, source.bytes)
    const warnings: string[] = []
    const recognized: Record<string, unknown> = {}
    const notes: ReadingNotes = {
      recognize: (found) => Object.assign(recognized, found),
      warn: (sentence) => warnings.push(sentence),
    }
    const found = await readFile({ ...source, path }, folder, notes)
    const documents = await Array.fromAsync(found.documents)
    return await use({ ...found, recognized, warnings, documents: each(documents) })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export async function* each<T>(items: readonly T[]): AsyncGenerator<T, void> {
  yield* items
}

/** A file of unknown content whose bytes are not kept. */
export function newFile(changes: Partial<NewFile> & { readonly name: string }): NewFile {
  return {
    originalName: changes.name,
    format: 'csv',
    recognized: {},
    warnings: [],
    contentType: null,
    sourceUrl: null,
    content: null,
    replaces: false,
    ...changes,
  }
}

/** Stores a file's table. */
export function importFile(
  store: Pick<Store, 'files'>,
  { name, format, content }: { name: string; format: FileFormat; content: string | Uint8Array },
  signal = new AbortController().signal,
): Promise<UploadedFile> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  const originalName = `${name}.${format}`
  const sent = { bytes, name: originalName, contentType: null, url: null, options: { format } }
  return readDirectly(sent, ({ tables: [table] }) => {
    if (table === undefined) throw new Error('a file without a table')
    return store.files.importTables(newFile({ name, originalName, format }), [table], signal)
  })
}
