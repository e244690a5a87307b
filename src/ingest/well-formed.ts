import type { Row, RowValue } from '../domain/document.ts'
import { AppError } from '../errors.ts'
import { INGEST_LIMITS } from './ingest-limits.ts'

/**
 * The row with every lone surrogate replaced by U+FFFD, which is one code unit too: offsets stay as they are.
 * @throws AppError `insert_failed` where values are nested too deeply or a cell is too long
 */
export function wellFormedRow(row: Row, cellCharsMax: number): Row {
  const entries = Object.entries(row).map(([name, value]) => {
    if (typeof value === 'string' && value.length > cellCharsMax) {
      const found = `found ${value.length}`
      const limit = `A cell has at most ${cellCharsMax} characters`
      throw new AppError('insert_failed', `${limit}, ${found} in column "${name}"`)
    }
    return [name.toWellFormed(), wellFormed(value, 0)] as const
  })
  return Object.fromEntries(entries)
}

function wellFormed(value: RowValue, depth: number): RowValue {
  if (typeof value === 'string') return value.toWellFormed()
  if (value === null || typeof value !== 'object') return value
  if (depth > INGEST_LIMITS.nestingMax) {
    throw new AppError(
      'insert_failed',
      `A value is nested deeper than ${INGEST_LIMITS.nestingMax} levels`,
    )
  }
  if (isList(value)) return value.map((item) => wellFormed(item, depth + 1))
  const entries = Object.entries(value).map(([key, item]) => {
    return [key.toWellFormed(), wellFormed(item, depth + 1)] as const
  })
  return Object.fromEntries(entries)
}

function isList(value: object): value is readonly RowValue[] {
  return Array.isArray(value)
}
