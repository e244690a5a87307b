/** Attributes and metadata as OpenAI's API has them: few keys, short values. */
import { t } from 'elysia'
import { type Row, type RowValue, shownValue } from '../../../core/domain/document.ts'
import { nameKey } from '../../../core/domain/identifier.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import { AppError } from '../../../core/errors.ts'

export type Attributes = Readonly<Record<string, string | number | boolean>>

const PAIRS_MAX = 16
const KEY_CHARS_MAX = 64
const VALUE_CHARS_MAX = 512

export const ATTRIBUTES_SCHEMA = t.Record(
  t.String(),
  t.Union([t.String(), t.Number(), t.Boolean()]),
  { description: 'Up to 16 keys of up to 64 characters; texts of up to 512' },
)

/** @throws AppError `invalid_request` */
export function checkedPairs(
  sent: Readonly<Record<string, unknown>> | null | undefined,
  param: 'attributes' | 'metadata',
): Attributes {
  const wrong = (what: string) => {
    return new AppError('invalid_request', `Field "${param}" ${what}`, { param })
  }
  const entries = Object.entries(sent ?? {})
  if (entries.length > PAIRS_MAX) throw wrong(`has at most ${PAIRS_MAX} keys`)
  for (const [key, value] of entries) {
    if (key === '' || key.length > KEY_CHARS_MAX) {
      throw wrong(`has keys of 1 to ${KEY_CHARS_MAX} characters`)
    }
    if (typeof value === 'string' && value.length > VALUE_CHARS_MAX) {
      throw wrong(`has values of at most ${VALUE_CHARS_MAX} characters; "${key}" has more`)
    }
    if (!['string', 'number', 'boolean'].includes(typeof value)) {
      throw wrong(`has texts, numbers, true and false as values; "${key}" is another`)
    }
  }
  // Each was looked at.
  return Object.fromEntries(entries) as Attributes
}

/** Attributes are metadata of a document. @throws AppError `invalid_request` for what its knowledge base has no place for */
export function checkedAttributes(
  kb: KnowledgeBase,
  sent: Readonly<Record<string, unknown>> | null | undefined,
): Attributes {
  const attributes = checkedPairs(sent, 'attributes')
  const taken = [kb.idColumn ?? 'id', 'id', ...(kb.contentColumns ?? ['content']), 'layout']
  const takenKeys = new Set(taken.map(nameKey))
  const columns = kb.metadataColumns && new Set(kb.metadataColumns.map(nameKey))
  const seen = new Set<string>()
  for (const key of Object.keys(attributes)) {
    const wrong = (what: string) => {
      return new AppError('invalid_request', `Attribute "${key}" ${what}`, { param: 'attributes' })
    }
    if (takenKeys.has(nameKey(key))) throw wrong('is the id or the text of a document: rename it')
    if (seen.has(nameKey(key))) throw wrong('is there twice; case does not matter')
    seen.add(nameKey(key))
    if (columns !== null && !columns.has(nameKey(key))) {
      const there = kb.metadataColumns?.join(', ') || 'none'
      throw wrong(`is no metadata column of ${kb.name}; there are: ${there}`)
    }
  }
  return attributes
}

/** What every chunk says of its place. */
const OF_CHUNKS: ReadonlySet<string> = new Set([
  'chunk_index',
  'content_column',
  'start_char',
  'end_char',
  'original_doc_id',
  'original_row_index',
  'source',
])

/** Metadata of a document or chunk: what is no text, number or truth value is told as JSON. */
export function attributesOf(metadata: Row | Readonly<Record<string, unknown>>): Attributes {
  const shown: [string, string | number | boolean][] = []
  for (const [key, value] of Object.entries(metadata)) {
    // What is stored is what a row can hold.
    const plain = shownValue(value as Row[string]) as RowValue
    if (plain === null || OF_CHUNKS.has(key)) continue
    const isPlain = typeof plain !== 'object'
    shown.push([key, isPlain ? plain : JSON.stringify(plain)])
  }
  return Object.fromEntries(shown)
}
