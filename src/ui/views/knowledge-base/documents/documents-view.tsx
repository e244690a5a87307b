/** The documents of a knowledge base, or their chunks: looked through, narrowed down, deleted. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { deleteDocuments, findWords, listChunks, listDocuments } from '../../../api/documents.ts'
import { without } from '../../../api/filters.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Icon } from '../../../components/icon.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'
import { counted, shownCount } from '../../../format/numbers.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { tellDone } from '../../../shell/notices.tsx'
import { type KnowledgeBaseAddress, KnowledgeBaseFrame } from '../knowledge-base-frame.tsx'
import { FacetPanel } from './facet-panel.tsx'
import { type ListAddress, listAddressOf, PAGE_ROWS, queryOfList } from './list-address.ts'
import { ListSearch } from './list-search.tsx'
import { ListedRows, type Row } from './listed-rows.tsx'

interface Page {
  readonly rows: readonly Row[]
  /** Null: nobody counted. */
  readonly total: number | null
  readonly next: string | null
}

export function DocumentsView({ project, name }: KnowledgeBaseAddress) {
  const { query, path: here, route } = useLocation()
  const shown = listAddressOf(query)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isAsking, setIsAsking] = useState(false)
  const kb = useResource(
    (signal) =>
      request<KnowledgeBase>(path`/api/projects/${project}/knowledge_bases/${name}`, { signal }),
    [project, name],
  )
  const page = useResource(
    (signal) => readPage({ project, name }, shown, signal),
    [project, name, shown],
  )
  const show = (change: Partial<ListAddress>) => {
    setSelected(new Set())
    route(`${here}${queryOfList({ ...shown, page: 1, cursor: undefined, ...change })}`)
  }
  const deleteSelected = async () => {
    const { deleted, chunks } = await deleteDocuments(
      { project, name },
      { id: { in: [...selected] } },
    )
    tellDone(`Deleted ${counted(deleted, 'document')} with ${counted(chunks, 'chunk')}`)
    setSelected(new Set())
    page.reload()
  }
  const isNarrowed = shown.words !== '' || Object.keys(shown.filters).length > 0
  const isEmpty = page.data?.rows.length === 0
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <div class="kb-documents">
        {kb.data && !(isEmpty && !isNarrowed) && (
          <FacetPanel
            of={{ project, name }}
            types={kb.data.metadata_types}
            shown={shown}
            onFilters={(filters) => show({ filters })}
          />
        )}
        <div class="stack">
          <ListSearch shown={shown} onShow={show} />
          <Chips shown={shown} onShow={show} />
          {selected.size > 0 && (
            <div class="row kb-selected" role="status">
              <strong>{counted(selected.size, 'document')} selected</strong>
              <button type="button" class="button small" onClick={() => setIsAsking(true)}>
                <Icon name="trash" />
                Delete
              </button>
              <button type="button" class="button small" onClick={() => setSelected(new Set())}>
                Select none
              </button>
            </div>
          )}
          {page.failure && <Failure error={page.failure} onRetry={page.reload} />}
          {!page.data && page.isLoading && <Loading what="the documents" />}
          {isEmpty && (
            <Nothing
              isNarrowed={isNarrowed}
              of={{ project, name }}
              onClear={() => show({ words: '', filters: {} })}
            />
          )}
          {page.data && !isEmpty && (
            <>
              {page.data.total !== null && (
                <p class="small quiet">
                  {wordsOfPlace(shown.page, page.data.rows.length, page.data.total)}
                </p>
              )}
              <ListedRows
                of={{ project, name }}
                rows={page.data.rows}
                selected={shown.shows === 'chunks' ? undefined : selected}
                onSelect={setSelected}
              />
              <Pages here={here} shown={shown} next={page.data.next} />
            </>
          )}
        </div>
      </div>
      {isAsking && (
        <ConfirmDialog
          title={`Delete ${counted(selected.size, 'document')}?`}
          verb="Delete"
          onConfirm={deleteSelected}
          onClose={() => setIsAsking(false)}
        >
          They are gone with all of their chunks. This cannot be undone.
        </ConfirmDialog>
      )}
    </KnowledgeBaseFrame>
  )
}

/** `51–100 of 1,398`. */
function wordsOfPlace(page: number, rows: number, total: number): string {
  const first = (page - 1) * PAGE_ROWS
  return `${shownCount(first + 1)}–${shownCount(first + rows)} of ${shownCount(total)}`
}

async function readPage(
  of: KnowledgeBaseAddress,
  shown: ListAddress,
  signal: AbortSignal,
): Promise<Page> {
  const { words, within, filters, page, cursor } = shown
  const isChunks = shown.shows === 'chunks'
  if (words !== '' && within === 'text') {
    const count = Math.min(10_000, page * PAGE_ROWS + 1)
    const search = { words, filters, count, isPerDocument: !isChunks }
    const { results } = await findWords(of, search, signal)
    const rows = results.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS).map(chunkRow)
    return { rows, total: null, next: results.length > page * PAGE_ROWS ? '' : null }
  }
  const offset = cursor === undefined ? (page - 1) * PAGE_ROWS : undefined
  const part = { limit: PAGE_ROWS, filters, named: words, cursor, offset }
  if (isChunks) {
    const { items, total, next } = await listChunks(of, part, signal)
    return { rows: items.map(chunkRow), total, next }
  }
  const { items, total, next } = await listDocuments(of, part, signal)
  const rows = items.map(({ id, title, metadata, chunk_count, characters }) => {
    const facts = `${counted(chunk_count, 'chunk')} · ${counted(characters, 'character')}`
    return { key: id, id, title: title ?? id, facts, metadata }
  })
  return { rows, total, next }
}

interface FoundChunk {
  readonly id: string
  readonly chunk_id: string
  readonly chunk_content: string
  readonly metadata: Readonly<Record<string, unknown>>
}

function chunkRow({ id, chunk_id: key, chunk_content: text, metadata }: FoundChunk): Row {
  const { start_char: start, end_char: end, content_column: column, title } = metadata
  const hasPlace = typeof start === 'number' && typeof end === 'number'
  return {
    key,
    id,
    title: typeof title === 'string' && title !== '' ? title : id,
    facts: hasPlace ? `characters ${start}–${end}` : '',
    metadata: {},
    excerpt: text.slice(0, 400),
    ...(hasPlace
      ? { place: { start, end, column: typeof column === 'string' ? column : undefined } }
      : {}),
  }
}

interface ChipsProps {
  readonly shown: ListAddress
  readonly onShow: (change: Partial<ListAddress>) => void
}

function Chips({ shown: { filters }, onShow }: ChipsProps) {
  const names = Object.keys(filters)
  if (names.length === 0) return null
  return (
    <ul class="kb-chips" aria-label="Filters">
      {names.map((name) => (
        <li key={name}>
          <button
            type="button"
            class="button small"
            aria-label={`Take away the filter ${name}`}
            onClick={() => onShow({ filters: without(filters, name) })}
          >
            <span class="one-line" dir="auto">
              {name}: {wordsOfCondition(filters[name])}
            </span>
            <Icon name="close" />
          </button>
        </li>
      ))}
      <li>
        <button type="button" class="button small quiet" onClick={() => onShow({ filters: {} })}>
          Clear filters
        </button>
      </li>
    </ul>
  )
}

function wordsOfCondition(condition: unknown): string {
  if (condition === null) return 'no value'
  if (typeof condition !== 'object') return String(condition)
  return Object.entries(condition)
    .map(([operator, value]) => {
      if (operator === 'in' && Array.isArray(value)) {
        return value.map((one) => (one === null ? 'no value' : String(one))).join(' or ')
      }
      return `${operator} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`
    })
    .join(', ')
}

interface NothingProps {
  readonly isNarrowed: boolean
  readonly of: KnowledgeBaseAddress
  readonly onClear: () => void
}

function Nothing({ isNarrowed, of: { project, name }, onClear }: NothingProps) {
  if (isNarrowed) {
    return (
      <EmptyState icon="filter" title="Nothing matches">
        <button type="button" class="button" onClick={onClear}>
          Show everything
        </button>
      </EmptyState>
    )
  }
  return (
    <EmptyState icon="file" title="There are no documents yet">
      <a class="button primary" href={addressOf.addDocuments(project, name)}>
        Add documents
      </a>
    </EmptyState>
  )
}

interface PagesProps {
  readonly here: string
  readonly shown: ListAddress
  readonly next: string | null
}

function Pages({ here, shown, next }: PagesProps) {
  if (shown.page === 1 && next === null) return null
  const to = (page: number, cursor?: string) => {
    return `${here}${queryOfList({ ...shown, page, cursor: cursor || undefined })}`
  }
  return (
    <nav class="row" aria-label="Pages">
      {shown.page > 1 && (
        <a class="button small" href={to(shown.page - 1)}>
          Page before
        </a>
      )}
      <span class="small quiet">Page {shown.page}</span>
      {next !== null && (
        <a class="button small" href={to(shown.page + 1, next)}>
          Next page
        </a>
      )}
    </nav>
  )
}
