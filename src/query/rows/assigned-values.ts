import { ownMetadata } from '../../domain/chunk.ts'
import type { Row, RowValue } from '../../domain/document.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { LIMITS } from '../../domain/limits.ts'
import type { ResultValue } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import { wellFormedRow } from '../../ingest/document-of-row.ts'
import { type AssignmentTarget, metadataName } from './assignment-targets.ts'

/** The new values of one chunk. */
export interface AssignedValues {
  /** Content column → new text, which is not empty. */
  readonly texts: ReadonlyMap<string, string>
  readonly metadata: Row
}

/**
 * @param values of the targets, in their order
 * @throws AppError `insert_failed` for a content that is empty, a metadata that is no object, or a value beyond the
 * limits; `sql_not_supported` for an undeclared key of metadata
 */
export function assignedValues(
  targets: readonly AssignmentTarget[],
  values: readonly ResultValue[],
  kb: KnowledgeBase,
): AssignedValues {
  const texts = new Map<string, string>()
  const metadata = new Map<string, RowValue>()
  for (const [index, target] of targets.entries()) {
    const value = values[index] ?? null
    if (target.kind === 'content') texts.set(target.column, textOf(value, target.column))
    else if (target.kind === 'metadata') metadata.set(target.name, value)
    else {
      for (const [name, part] of Object.entries(objectOf(value))) {
        metadata.set(metadataName(name, kb), part)
      }
    }
  }
  const row = wellFormedRow(Object.fromEntries(metadata), LIMITS.cellCharsMax)
  return { texts, metadata: row }
}

function textOf(value: ResultValue, column: string): string {
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  if (text === null || String(text).trim() === '') {
    throw new AppError('insert_failed', 'The new content is empty; to take rows away use DELETE')
  }
  const row = wellFormedRow({ [column]: String(text) }, LIMITS.cellCharsMax)
  return String(row[column])
}

function objectOf(value: ResultValue): Row {
  const object = typeof value === 'string' ? parsed(value) : value
  if (typeof object === 'object' && object !== null && !Array.isArray(object)) {
    // What JSON holds is a row's values.
    return ownMetadata(object as Row)
  }
  throw new AppError('insert_failed', 'metadata is set to a JSON object')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
