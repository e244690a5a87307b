import type { TokenCounter } from '../../core/domain/ports/model-ports.ts'
import { AppError, type ErrorCode, errorText } from '../../core/errors.ts'
import {
  type ChunkableText,
  type ChunkedTexts,
  type ChunkingRules,
  chunkTexts,
} from '../chunking/chunk-texts.ts'

export type ReaderJob =
  | {
      readonly kind: 'match'
      readonly texts: readonly string[]
      readonly patterns: readonly string[]
    }
  | {
      readonly kind: 'chunk'
      readonly texts: readonly ChunkableText[]
      readonly rules: ChunkingRules
    }

export type ReaderAnswer =
  | { readonly kind: 'matching'; readonly texts: readonly string[] }
  | { readonly kind: 'chunked'; readonly chunked: ChunkedTexts }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }

export function answerJob(job: ReaderJob, wordPieces: () => TokenCounter): ReaderAnswer {
  try {
    if (job.kind === 'chunk') {
      return { kind: 'chunked', chunked: chunkTexts(job.texts, job.rules, wordPieces) }
    }
    return matching(job.texts, job.patterns)
  } catch (error) {
    if (error instanceof AppError) {
      return { kind: 'failed', code: error.code, message: error.message }
    }
    const reason = errorText(error).slice(0, 500)
    const what = job.kind === 'chunk' ? 'text could not be chunked' : 'patterns cannot be matched'
    return { kind: 'failed', code: 'insert_failed', message: `The ${what}: ${reason}` }
  }
}

/** The buffers of an answer to transfer to the main thread without copying. */
export function transfersOf(answer: ReaderAnswer): readonly ArrayBuffer[] {
  if (answer.kind !== 'chunked') return []
  const buffers = Object.values(answer.chunked).map((part: unknown) => {
    return ArrayBuffer.isView(part) ? part.buffer : null
  })
  return buffers.filter((buffer) => buffer instanceof ArrayBuffer)
}

function matching(texts: readonly string[], patterns: readonly string[]): ReaderAnswer {
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

/** Unicode mode refuses escapes that are valid in other languages, such as `\-`. */
function withoutUnicode(pattern: string): RegExp {
  try {
    return new RegExp(pattern)
  } catch (cause) {
    const shown = JSON.stringify(pattern.slice(0, 100))
    throw new AppError('insert_failed', `${shown} is not a regular expression`, { cause })
  }
}
