/** Metadata values as typed text. Each keeps its type: a number stays a number, a date a date. */

export const FIELD_KINDS = ['text', 'number', 'boolean', 'date', 'time', 'json'] as const
export type FieldKind = (typeof FIELD_KINDS)[number]

export interface DraftField {
  readonly name: string
  readonly kind: FieldKind
  readonly text: string
  /** The stored value; undefined if there is none. */
  readonly stored: unknown
}

type Fields = Readonly<Record<string, unknown>>
type Texts = Readonly<Record<string, string>>

/** All columns of the knowledge base, and the document's other metadata. */
export function draftOf(metadata: Fields, types: Readonly<Record<string, string>>): DraftField[] {
  const names = [...new Set([...Object.keys(metadata), ...Object.keys(types)])]
  return names.map((name) => {
    const stored = metadata[name]
    const kind = kindOf(types[name], stored)
    return { name, kind, text: textOf(kind, stored), stored }
  })
}

const DATE = /^\d{4}-\d\d-\d\d$/
const TIME = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?$/

/** A value that the control for its type cannot show is edited as text or JSON. */
export function kindOf(type: string | undefined, value: unknown): FieldKind {
  const isEmpty = value === null || value === undefined
  if (typeof value === 'object' && !isEmpty) return 'json'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number') return 'number'
  if (type === undefined) return 'text'
  const isText = typeof value === 'string'
  if (type === 'DATE') return isEmpty || (isText && DATE.test(value)) ? 'date' : 'text'
  if (/^TIMESTAMP(_S|_MS)?$/.test(type)) {
    return isEmpty || (isText && TIME.test(value)) ? 'time' : 'text'
  }
  if (isText) return type === 'JSON' ? 'json' : 'text'
  if (type === 'BOOLEAN') return 'boolean'
  if (type === 'JSON' || type.endsWith(']') || /^(STRUCT|MAP)/.test(type)) return 'json'
  return /INT$|^(DOUBLE|FLOAT|REAL|DECIMAL)/.test(type) ? 'number' : 'text'
}

export function textOf(kind: FieldKind, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (kind === 'json') return JSON.stringify(value, null, 2)
  if (kind === 'time') return String(value).replace(' ', 'T')
  return String(value)
}

/** Returns null for no value. @throws Error naming the field */
export function typedValue({ name, kind, text, stored }: DraftField): unknown {
  if (text === textOf(kind, stored)) return stored ?? null
  if (text.trim() === '') return null
  if (kind === 'boolean') return text === 'true'
  if (kind === 'number') return numberOf(name, text)
  if (kind === 'time') return text.replace('T', ' ')
  if (kind !== 'json') return text
  try {
    return JSON.parse(text)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`"${name}" is not JSON: ${why}`)
  }
}

function numberOf(name: string, text: string): unknown {
  const value = Number(text)
  if (!Number.isFinite(value)) throw new Error(`"${name}" is not a number: ${text.slice(0, 40)}`)
  // A larger integer is sent as a string, because JSON numbers cannot hold it exactly but the
  // server reads all digits of a string.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? text.trim() : value
}

/** Applies changes to the currently stored metadata, for replacing a document. */
export function overStored(stored: Fields, changes: Fields): Fields {
  const values = Object.entries({ ...stored, ...changes })
  return Object.fromEntries(values.filter(([, value]) => value !== null))
}

/** The currently stored texts, except for those edited since the document was opened. */
export function textsOver(stored: Texts, opened: Texts, typed: Texts): Texts {
  const changed = Object.entries(typed).filter(([column, text]) => text !== opened[column])
  return { ...stored, ...Object.fromEntries(changed) }
}

/** The edited fields; null removes a value. @throws Error like `typedValue` */
export function changesOf(draft: readonly DraftField[]): Fields {
  const changed = draft.filter(({ kind, text, stored }) => text !== textOf(kind, stored))
  return Object.fromEntries(changed.map((field) => [field.name, typedValue(field)]))
}

/** Describes how two states of a document differ, such as `its text, "price"`. */
export function differences(
  one: { readonly content: Fields; readonly metadata: Fields },
  other: { readonly content: Fields; readonly metadata: Fields },
): string {
  const names = new Set([...Object.keys(one.metadata), ...Object.keys(other.metadata)])
  const changed = [...names].filter((name) => {
    return JSON.stringify(one.metadata[name]) !== JSON.stringify(other.metadata[name])
  })
  const isTextOther = JSON.stringify(one.content) !== JSON.stringify(other.content)
  return [...(isTextOther ? ['its text'] : []), ...changed.map((name) => `"${name}"`)].join(', ')
}
