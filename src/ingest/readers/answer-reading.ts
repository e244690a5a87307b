import { AppError } from '../../errors.ts'
import { readDocument } from './read-document.ts'
import type { ReadingAnswer, ReadingJob } from './reading-protocol.ts'

/** The reading thread's work: every failure is an answer. */
export async function answerReading(job: ReadingJob): Promise<ReadingAnswer> {
  try {
    if (job.kind === 'match') return matching(job.texts, job.patterns)
    return { kind: 'read', document: await readDocument(job.document) }
  } catch (error) {
    if (error instanceof AppError) {
      return { kind: 'failed', code: error.code, message: error.message }
    }
    const reason = error instanceof Error ? error.message : String(error)
    const message = `The document could not be read: ${reason.slice(0, 500)}`
    return { kind: 'failed', code: 'file_unreadable', message }
  }
}

function matching(texts: readonly string[], patterns: readonly string[]): ReadingAnswer {
  const expressions = patterns.map(expressionOf)
  const found = texts.filter((text) => expressions.some((expression) => expression.test(text)))
  return { kind: 'matching', texts: found }
}

function expressionOf(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return withoutUnicode(pattern)
  }
}

/** Unicode mode refuses escapes that other languages know, such as `\-`. */
function withoutUnicode(pattern: string): RegExp {
  try {
    return new RegExp(pattern)
  } catch (cause) {
    const shown = JSON.stringify(pattern.slice(0, 100))
    throw new AppError('insert_failed', `${shown} is no regular expression`, { cause })
  }
}
