import { basename } from 'node:path'
import type { ReadDocument, ReadMember } from '../../core/domain/ports/reading-ports.ts'
import { AppError } from '../../core/errors.ts'
import { processorMs } from '../../core/runtime/processor-time.ts'
import type { ReadingNotes } from '../document-format.ts'
import { DocumentWriter } from './document-files.ts'
import { readFile } from './read-file.ts'
import {
  isReadingErrorCode,
  type ReadingAnswer,
  type ReadingJob,
  shownWarnings,
} from './reading-messages.ts'

const REASON_CHARS_MAX = 500
/** Of the processor time for a file; the rest is for what becomes of the pages that were read. */
const SPENT_SHARE = 0.7

/** The work of a reader process: every failure that it survives is an answer. */
export async function answerJob({
  id,
  source,
  folder,
  limits,
}: ReadingJob): Promise<ReadingAnswer> {
  const warnings: string[] = []
  let recognized = {}
  const spentAt = processorMs() + SPENT_SHARE * (limits.cpuMs ?? Infinity)
  const notes: ReadingNotes = {
    recognize: (found) => {
      recognized = { ...recognized, ...found }
    },
    warn: (sentence) => {
      warnings.push(sentence)
    },
    isSpent: () => processorMs() >= spentAt,
  }
  try {
    const { format, tables, documents, archive } = await readFile(source, folder, notes)
    // Documents are read here, one by one, and may say more.
    const documentCount = await writeDocuments(documents, folder)
    const summary = {
      format,
      recognized,
      warnings: shownWarnings(warnings),
      tables: tables.map((table) => ({ ...table, path: table.path.slice(folder.length + 1) })),
      documentCount,
      archive: archive && { ...archive, members: archive.members.map(inFolder) },
    }
    return { kind: 'read', id, summary }
  } catch (error) {
    return failure(id, error)
  }
}

/** Its path as a name in the job's folder. */
function inFolder(member: ReadMember): ReadMember {
  return { ...member, path: basename(member.path) }
}

async function writeDocuments(
  documents: Iterable<ReadDocument> | AsyncIterable<ReadDocument>,
  folder: string,
): Promise<number> {
  const writer = new DocumentWriter(folder)
  for await (const document of documents) writer.write(document)
  writer.end()
  return writer.count
}

function failure(id: number, error: unknown): ReadingAnswer {
  if (error instanceof AppError && isReadingErrorCode(error.code)) {
    return { kind: 'failed', id, code: error.code, message: error.message }
  }
  const reason = (error instanceof Error ? error.message : String(error)).slice(0, REASON_CHARS_MAX)
  const message = `The file could not be read: ${reason}`
  return { kind: 'failed', id, code: 'file_unreadable', message }
}
