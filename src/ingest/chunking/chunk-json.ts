import type { RowValue } from '../../domain/document.ts'
import { AppError } from '../../errors.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'

/**
 * The elements of a JSON text: those of a list, or the one object, each as lines `key: value` with nested keys as
 * `a.b` and `a[0].b`. Nulls are left out, elements without anything to say too.
 * @throws AppError `insert_failed` for what is not JSON
 */
export function* chunkJson(text: string): Generator<string> {
  const value = parsed(text)
  for (const element of Array.isArray(value) ? value : [value]) {
    const content = [...linesOf(element, '', 0)].join('\n')
    // A text that is well-formed may still write half a surrogate pair as an escape.
    if (content.trim() !== '') yield content.toWellFormed()
  }
}

function parsed(text: string): RowValue {
  if (text.length > INGEST_LIMITS.jsonCharsMax) {
    const found = `found ${text.length}`
    const limit = `JSON content has at most ${INGEST_LIMITS.jsonCharsMax} characters`
    throw new AppError('insert_failed', `${limit}, ${found}`)
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    const begin = JSON.stringify(text.slice(0, 40))
    throw new AppError('insert_failed', `The content is not JSON; it begins with ${begin}`, {
      cause,
    })
  }
}

function* linesOf(value: RowValue, path: string, depth: number): Generator<string> {
  if (value === null) return
  if (typeof value !== 'object') {
    yield path === '' ? String(value) : `${path}: ${value}`
    return
  }
  if (depth > INGEST_LIMITS.nestingMax) {
    throw new AppError(
      'insert_failed',
      `JSON nested deeper than ${INGEST_LIMITS.nestingMax} levels`,
    )
  }
  if (isList(value)) {
    if (value.every((item) => item === null || typeof item !== 'object')) {
      const items = value.filter((item) => item !== null).join(', ')
      if (items !== '') yield path === '' ? items : `${path}: ${items}`
      return
    }
    for (const [index, item] of value.entries())
      yield* linesOf(item, `${path}[${index}]`, depth + 1)
    return
  }
  for (const [key, item] of Object.entries(value)) {
    yield* linesOf(item, path === '' ? key : `${path}.${key}`, depth + 1)
  }
}

function isList(value: object): value is readonly RowValue[] {
  return Array.isArray(value)
}
