/**
 * Documents or chunks in a table: title or first line, source, size and date. Rows can be selected
 * and deleted.
 */
import { shortened } from '../../../core/short-text.ts'
import { deleteAllDocuments, deleteDocuments, deleteNamedDocuments } from '../../api/documents.ts'
import type { Filters } from '../../api/filters.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { may } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmButton } from '../../components/dialog.tsx'
import { Check } from '../../components/form/field.tsx'
import { counted, shownCount } from '../../components/numbers.ts'
import { RecordTable, type TableColumn } from '../../components/record-list.tsx'
import { addressOf } from '../../shell/addresses.ts'
import { tellDone } from '../../shell/notices.tsx'

export interface Row {
  readonly key: string
  readonly id: string
  readonly title: string
  readonly excerpt: string
  readonly size: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly place?: {
    readonly start: number
    readonly end: number
    readonly column?: string | undefined
    readonly chunkId: string
  }
}

const TITLE_CHARS_MAX = 200
const SOURCE_CHARS_MAX = 80

export function DocumentTable(props: {
  readonly of: KnowledgeBaseName
  readonly rows: readonly Row[]
  /** The ids of the selected documents; undefined if nothing can be selected. */
  readonly selected: ReadonlySet<string> | undefined
  readonly onSelect: (ids: ReadonlySet<string>) => void
}) {
  const { of, rows, selected, onSelect } = props
  const select = (ids: readonly string[], isOn: boolean) => {
    const next = new Set(selected)
    for (const id of ids) isOn ? next.add(id) : next.delete(id)
    onSelect(next)
  }
  const isAll = selected !== undefined && rows.every(({ id }) => selected.has(id))
  const sources = rows.map(({ metadata }) => sourceOf(metadata))
  const dates = rows.map(({ metadata }) => dateOf(metadata))
  const columns: readonly TableColumn<Row>[] = [
    ...(selected === undefined
      ? []
      : [
          {
            title: <span class="visually-hidden">Selected</span>,
            look: 'kb-tick',
            cell: ({ id, title }: Row) => (
              <input
                type="checkbox"
                aria-label={`Select ${shortened(title, TITLE_CHARS_MAX)}`}
                checked={selected.has(id)}
                onChange={({ currentTarget: { checked } }) => select([id], checked)}
              />
            ),
          },
        ]),
    {
      title: selected === undefined ? 'Chunk' : 'Document',
      look: 'kb-name',
      cell: (row) => (
        <>
          <a href={addressOfRow(of, row)}>{shortened(row.title, TITLE_CHARS_MAX)}</a>
          {row.excerpt !== '' && <p class="small quiet clamped">{row.excerpt}</p>}
        </>
      ),
    },
    ...optional('Source', sources, 'kb-source'),
    { title: 'Size', look: 'small kb-size', cell: ({ size }) => size },
    ...optional('Date', dates, 'kb-date'),
  ]
  return (
    <>
      {selected && (
        <div>
          <Check
            checked={isAll}
            onCheck={(isChecked) =>
              select(
                rows.map(({ id }) => id),
                isChecked,
              )
            }
          >
            <span class="small quiet">Select all of this page</span>
          </Check>
        </div>
      )}
      <RecordTable label="List" look="stacked kb-list" rows={rows} columns={columns} />
    </>
  )
}

/** A column, if at least one row has a value for it. */
function optional(
  title: string,
  values: readonly string[],
  look: string,
): readonly TableColumn<Row>[] {
  if (values.every((value) => value === '')) return []
  return [{ title, look: `small ${look}`, cell: (_, index) => values[index] }]
}

function addressOfRow({ project, name }: KnowledgeBaseName, { id, place }: Row): string {
  // Browsers would treat these two as relative path segments.
  if (id === '.' || id === '..') {
    const query = new URLSearchParams({ show: 'chunks', filters: JSON.stringify({ id }) })
    return `${addressOf.knowledgeBase(project, name)}?${query}`
  }
  if (place === undefined) return addressOf.document(project, name, id)
  return addressOf.chunk(project, name, { documentId: id, ...place })
}

/**
 * Metadata columns that readers of files, pages and tables set, and other common names for them.
 */
const SOURCES = ['url', 'file', 'file_name', 'filename', 'path', '_source']
const DATES = ['date', 'published', 'modified', 'updated', 'updated_at', 'created', 'created_at']

function firstText(metadata: Row['metadata'], names: readonly string[]): string {
  const values = names.map((name) => metadata[name])
  return values.find((value): value is string => typeof value === 'string' && value !== '') ?? ''
}

function sourceOf(metadata: Row['metadata']): string {
  return shortened(firstText(metadata, SOURCES).replace(/^https?:\/\//, ''), SOURCE_CHARS_MAX)
}

function dateOf(metadata: Row['metadata']): string {
  return firstText(metadata, DATES).slice(0, 10)
}

interface SelectionBarProps {
  readonly of: KnowledgeBaseName
  readonly selected: ReadonlySet<string>
  /** All documents that match the filters; undefined if their number is unknown. */
  readonly whole: { readonly filters: Filters; readonly total: number } | undefined
  /** Whether all of them are selected, on every page. */
  readonly isWhole: boolean
  readonly onWhole: () => void
  readonly onSelect: (ids: ReadonlySet<string>) => void
  readonly onDeleted: () => void
}

export function SelectionBar(props: SelectionBarProps) {
  const { of, selected, whole, isWhole, onWhole, onSelect, onDeleted } = props
  const all = isWhole ? whole : undefined
  const count = all?.total ?? selected.size
  if (selected.size === 0) return null
  const clear = () => onSelect(new Set())
  const isFiltered = all !== undefined && Object.keys(all.filters).length > 0
  const remove = async () => {
    const { deleted, chunks } = await (all === undefined
      ? deleteNamedDocuments(of, [...selected])
      : isFiltered
        ? deleteDocuments(of, all.filters)
        : deleteAllDocuments(of))
    tellDone(`Deleted ${counted(deleted, 'document')} with ${counted(chunks, 'chunk')}`)
    clear()
    onDeleted()
  }
  return (
    <div class="row banner">
      <strong role="status">{counted(count, 'document')} selected</strong>
      {!all && whole && whole.total > selected.size && (
        <Button look="small" label={`Select all ${shownCount(whole.total)}`} onClick={onWhole} />
      )}
      {may('write') && (
        <ConfirmButton
          look="small"
          icon="trash"
          label="Delete"
          asks={`Delete ${counted(count, 'document')}?`}
          onConfirm={remove}
        >
          {isFiltered
            ? 'All documents that match the filters, on every page, are deleted with their chunks.'
            : 'They are deleted with their chunks.'}{' '}
          This cannot be undone.
        </ConfirmButton>
      )}
      <Button look="small" label="Select none" onClick={clear} />
    </div>
  )
}
