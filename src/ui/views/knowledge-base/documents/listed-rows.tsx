/** Documents or chunks, one below the other. */
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { addressOf } from '../../../shell/addresses.ts'

export interface Row {
  readonly key: string
  /** Of the document. */
  readonly id: string
  readonly title: string
  readonly facts: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly excerpt?: string
  readonly place?: {
    readonly start: number
    readonly end: number
    readonly column?: string | undefined
    readonly chunkId: string
  }
}

interface ListedRowsProps {
  readonly of: KnowledgeBaseName
  readonly rows: readonly Row[]
  /** Ids of documents; undefined: nothing can be selected. */
  readonly selected: ReadonlySet<string> | undefined
  readonly onSelect: (ids: ReadonlySet<string>) => void
}

export function ListedRows({ of, rows, selected, onSelect }: ListedRowsProps) {
  const isAll = selected !== undefined && rows.every(({ id }) => selected.has(id))
  const select = (ids: readonly string[], isOn: boolean) => {
    const next = new Set(selected)
    for (const id of ids) isOn ? next.add(id) : next.delete(id)
    onSelect(next)
  }
  return (
    <div class="panel flush">
      {selected && (
        <label class="check kb-row small quiet">
          <input
            type="checkbox"
            checked={isAll}
            onChange={(event) =>
              select(
                rows.map(({ id }) => id),
                event.currentTarget.checked,
              )
            }
          />
          Select all of this page
        </label>
      )}
      <ul class="kb-rows">
        {rows.map((row) => (
          <li key={row.key} class="kb-row">
            {selected && (
              <input
                type="checkbox"
                aria-label={`Select ${shortened(row.title, TITLE_CHARS_MAX)}`}
                checked={selected.has(row.id)}
                onChange={(event) => select([row.id], event.currentTarget.checked)}
              />
            )}
            <div class="grow">
              <a href={addressOfRow(of, row)} dir="auto">
                {shortened(row.title, TITLE_CHARS_MAX)}
              </a>
              {row.excerpt !== undefined && (
                <p class="small kb-excerpt" dir="auto">
                  {row.excerpt}
                </p>
              )}
              <p class="small quiet one-line" dir="auto">
                {row.facts}
                {wordsOf(row)}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </div>
  )
}

function addressOfRow({ project, name }: KnowledgeBaseName, { id, place }: Row): string {
  // Browsers take these two for parts of the path.
  if (id === '.' || id === '..') {
    const query = new URLSearchParams({ show: 'chunks', filters: JSON.stringify({ id }) })
    return `${addressOf.knowledgeBase(project, name)}?${query}`
  }
  if (place === undefined) return addressOf.document(project, name, id)
  return addressOf.chunk(project, name, { documentId: id, ...place })
}

/** A cell may be megabytes long. */
const VALUE_CHARS_MAX = 80
const TITLE_CHARS_MAX = 200
/** Digits of a number that say something in a list. */
const DIGITS_SHOWN = 6

function wordsOf({ metadata }: Row): string {
  return Object.entries(metadata)
    .filter(([name, value]) => value !== null && name !== 'title')
    .map(([name, value]) => {
      return ` · ${name}: ${shortened(textOf(value), VALUE_CHARS_MAX)}`
    })
    .join('')
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' && !Number.isInteger(value)) {
    return String(Number(value.toPrecision(DIGITS_SHOWN)))
  }
  return Array.isArray(value) ? value.map(textOf).join(', ') : JSON.stringify(value)
}

function shortened(text: string, charsMax: number): string {
  return text.length > charsMax ? `${text.slice(0, charsMax).toWellFormed()}…` : text
}
