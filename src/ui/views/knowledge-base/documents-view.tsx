/** The documents or chunks of a knowledge base: search, filter, open and delete them. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { quote } from '../../../core/domain/names.ts'
import { isObject, parsedJson } from '../../../core/json.ts'
import { findWords, listChunks, listDocuments } from '../../api/documents.ts'
import { type ColumnTypes, type Filters, whereOf } from '../../api/filters.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { runSql } from '../../api/sql.ts'
import { Button, Icon } from '../../components/button.tsx'
import { EmptyState, Failure, Loading } from '../../components/failure.tsx'
import { SearchInput } from '../../components/form/field.tsx'
import { FilterChips } from '../../components/form/filter-chips.tsx'
import { knownOf } from '../../components/known-name.ts'
import { counted, shownCount } from '../../components/numbers.ts'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { DocumentTable, type Row, SelectionBar } from './document-list.tsx'
import { FacetPanel } from './facets.tsx'
import { KnowledgeBaseFrame } from './knowledge-base-frame.tsx'

const PAGE_ROWS = 50

/** The state of the list, as stored in its address. */
interface ListAddress {
  readonly shows: 'documents' | 'chunks'
  readonly words: string
  /** Where to search for the words: in texts, or in ids and titles. */
  readonly within: 'text' | 'name'
  readonly filters: Filters
  /** Counts from 1. */
  readonly page: number
  /** Where the page starts, if known, so that the server reads only this page. */
  readonly cursor?: string | undefined
}

export function DocumentsView({ project, name }: KnowledgeBaseName) {
  const { query, path: here, route } = useLocation()
  const shown = listAddressOf(query)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isWhole, setIsWhole] = useState(false)
  const of = { project, name }
  const select = (ids: ReadonlySet<string>) => {
    setIsWhole(false)
    setSelected(ids)
  }
  // "All" refers to the list as it was, so a new list clears it.
  useLayoutEffect(() => setIsWhole(false), [here, queryOfList(shown)])
  const types = knownOf('knowledgeBases', of)?.metadata_types ?? {}
  const page = useResource((signal) => readPage(of, shown, signal), [project, name, shown])
  const show = (change: Partial<ListAddress>) => {
    select(new Set())
    route(`${here}${queryOfList({ ...shown, page: 1, cursor: undefined, ...change })}`)
  }
  // The last page stays until the next one arrives, so that nothing jumps and the focus stays.
  const last = useRef<{ readonly listed: Page; readonly place: ListAddress } | undefined>(undefined)
  const isPastEnd = shown.page > 1 && page.data?.rows.length === 0
  if (page.data !== undefined) {
    last.current = isPastEnd ? undefined : { listed: page.data, place: shown }
  }
  const listed = page.data ?? (page.isLoading ? last.current?.listed : undefined)
  const place = page.data === undefined ? (last.current?.place ?? shown) : shown
  // If the last page was deleted, earlier ones may remain.
  useLayoutEffect(() => {
    if (isPastEnd) route(`${here}${queryOfList({ ...shown, page: 1, cursor: undefined })}`, true)
  }, [isPastEnd])
  const isNarrowed = shown.words !== '' || Object.keys(shown.filters).length > 0
  const isEmpty = listed?.rows.length === 0
  // The previous list's total does not apply to these filters.
  const total = shown.words === '' ? (page.data?.total ?? null) : null
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <div class="with-side">
        {!(isEmpty && !isNarrowed) && (
          <FacetPanel
            of={of}
            types={types}
            filters={shown.filters}
            onFilters={(filters) => show({ filters })}
          />
        )}
        <div class="stack">
          <ListSearch shown={shown} onShow={show} />
          <FilterChips filters={shown.filters} onFilters={(filters) => show({ filters })} />
          <SelectionBar
            of={of}
            selected={selected}
            whole={total === null ? undefined : { filters: shown.filters, total }}
            isWhole={isWhole}
            onWhole={() => {
              setSelected(new Set([...selected, ...(page.data?.rows ?? []).map(({ id }) => id)]))
              setIsWhole(true)
            }}
            onSelect={select}
            onDeleted={page.reload}
          />
          {page.failure && <Failure error={page.failure} onRetry={page.reload} />}
          {!listed && page.isLoading && <Loading what="the documents" />}
          {isEmpty && isNarrowed && (
            <EmptyState icon="filter" title="Nothing matches">
              <Button label="Show everything" onClick={() => show({ words: '', filters: {} })} />
            </EmptyState>
          )}
          {isEmpty && !isNarrowed && (
            <EmptyState icon="file" title="There are no documents yet">
              <a class="button primary" href={addressOf.addDocuments(project, name)}>
                Add documents
              </a>
            </EmptyState>
          )}
          {listed && !isEmpty && (
            <div class="stack" aria-busy={page.isLoading}>
              <div class="row small quiet">
                <span class="grow" role="status">
                  {wordsOfPlace(place.page, listed.rows.length, listed.total)}
                </span>
                <SqlLink of={of} filters={shown.filters} types={types} />
              </div>
              <DocumentTable
                of={of}
                rows={listed.rows}
                selected={shown.shows === 'chunks' ? undefined : selected}
                onSelect={select}
              />
              <Pages here={here} shown={place} next={listed.next} total={listed.total} />
            </div>
          )}
        </div>
      </div>
    </KnowledgeBaseFrame>
  )
}

function listAddressOf(query: Readonly<Record<string, string>>): ListAddress {
  const page = Number.parseInt(query.page ?? '1', 10)
  const filters = parsedJson(query.filters ?? '')
  return {
    shows: query.show === 'chunks' ? 'chunks' : 'documents',
    words: query.q ?? '',
    within: query.in === 'name' ? 'name' : 'text',
    filters: isObject(filters) ? filters : {},
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    cursor: query.cursor,
  }
}

function queryOfList({ shows, words, within, filters, page, cursor }: ListAddress): string {
  const query = new URLSearchParams({
    ...(shows === 'chunks' ? { show: shows } : {}),
    ...(words === '' ? {} : { q: words }),
    ...(within === 'name' ? { in: within } : {}),
    ...(Object.keys(filters).length === 0 ? {} : { filters: JSON.stringify(filters) }),
    ...(page > 1 ? { page: String(page) } : {}),
    ...(page > 1 && cursor !== undefined ? { cursor } : {}),
  })
  return query.size === 0 ? '' : `?${query}`
}

/** Returns the position in the list, such as `51–100 of 1,398`. */
function wordsOfPlace(page: number, rows: number, total: number | null): string {
  const first = (page - 1) * PAGE_ROWS
  const place = `${shownCount(first + 1)}–${shownCount(first + rows)}`
  return total === null ? `${place}, best matches first` : `${place} of ${shownCount(total)}`
}

/** Proxies and servers accept URLs of up to about this length. */
const ADDRESS_CHARS_MAX = 4000

function SqlLink(props: {
  readonly of: KnowledgeBaseName
  readonly filters: Filters
  readonly types: ColumnTypes
}) {
  const { of, filters, types } = props
  const statement = statementOf(of, filters, types)
  if (statement === undefined || statement.length >= ADDRESS_CHARS_MAX) return null
  return (
    <a href={statement} class="button small">
      <Icon name="sql" />
      Open in SQL
    </a>
  )
}

/** Returns undefined if one of the conditions cannot be written in SQL here. */
function statementOf(
  { project, name }: KnowledgeBaseName,
  filters: Filters,
  types: ColumnTypes,
): string | undefined {
  try {
    const from = `${quote(project)}.${quote(name)}`
    return addressOf.statement(`SELECT * FROM ${from}${whereOf(filters, types)} LIMIT 1000`)
  } catch {
    return undefined
  }
}

interface PagesProps {
  readonly here: string
  readonly shown: ListAddress
  readonly next: string | null
  /** null if unknown. */
  readonly total: number | null
}

function Pages({ here, shown, next, total }: PagesProps) {
  if (shown.page === 1 && next === null) return null
  const last = total === null ? '' : ` of ${shownCount(Math.max(1, Math.ceil(total / PAGE_ROWS)))}`
  const to = (page: number, cursor?: string) => {
    return `${here}${queryOfList({ ...shown, page, cursor: cursor || undefined })}`
  }
  const toTop = () => scrollTo({ top: 0 })
  return (
    <nav class="row" aria-label="Pages">
      {shown.page > 1 && (
        <a class="button small" href={to(shown.page - 1)} onClick={toTop}>
          Previous page
        </a>
      )}
      <span class="small quiet">
        Page {shownCount(shown.page)}
        {last}
      </span>
      {next !== null && (
        <a class="button small" href={to(shown.page + 1, next)} onClick={toTop}>
          Next page
        </a>
      )}
    </nav>
  )
}

/** The search field, and the state of the list. */
function ListSearch(props: {
  readonly shown: ListAddress
  readonly onShow: (change: Partial<ListAddress>) => void
}) {
  const { shown, onShow } = props
  const [words, setWords] = useState(shown.words)
  useLayoutEffect(() => setWords(shown.words), [shown.words])
  return (
    <form
      class="row"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        onShow({ words: words.trim() })
      }}
    >
      <fieldset class="row kb-switch" aria-label="What is listed">
        {(['documents', 'chunks'] as const).map((one) => (
          <Button
            label={one === 'documents' ? 'Documents' : 'Chunks'}
            key={one}
            aria-pressed={shown.shows === one}
            onClick={() => onShow({ shows: one })}
          />
        ))}
      </fieldset>
      <SearchInput label="Find words" value={words} onText={setWords} />
      <select
        aria-label="Where to find them"
        value={shown.within}
        onChange={({ currentTarget: { value } }) =>
          onShow({ words: words.trim(), within: value === 'name' ? 'name' : 'text' })
        }
      >
        <option value="text">in texts</option>
        <option value="name">in titles and ids</option>
      </select>
      <Button type="submit" icon="search" label="Find" />
    </form>
  )
}

const FOUND_MAX = 10_000

interface Page {
  readonly rows: readonly Row[]
  /** null if unknown. */
  readonly total: number | null
  readonly next: string | null
}

/** Reads one page of the list. @throws ApiError */
async function readPage(
  of: KnowledgeBaseName,
  shown: ListAddress,
  signal: AbortSignal,
): Promise<Page> {
  const { words, within, filters, page, cursor } = shown
  const isChunks = shown.shows === 'chunks'
  if (words !== '' && within === 'text') {
    const count = Math.min(FOUND_MAX, page * PAGE_ROWS + 1)
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
  const ids = items.map(({ id }) => id)
  const firstLines = await readFirstLines(of, ids, signal)
  const rows = items.map(({ id, title, metadata, chunk_count, characters }) => ({
    key: id,
    id,
    title: title ?? id,
    excerpt: firstLines.get(id) ?? '',
    // Non-breaking spaces keep each number next to its word.
    size: `${counted(characters, 'character')}, ${counted(chunk_count, 'chunk')}`
      .replaceAll(' ', '\u00a0')
      .replace(',\u00a0', ', '),
    metadata,
  }))
  return { rows, total, next }
}

const LINE_CHARS_MAX = 160

/** Reads the start of each document's text. @throws ApiError */
async function readFirstLines(
  { project, name }: KnowledgeBaseName,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const sql = `SELECT id, left(trim(chunk_content), ${LINE_CHARS_MAX})
    FROM ${quote(project)}.${quote(name)}
    WHERE id IN :ids AND regexp_matches(chunk_id, ':1of[0-9]+:[0-9]+to[0-9]+$')`
  const { rows } = await runSql({ sql, project, params: { ids }, signal })
  // Removes the Markdown marks of a heading.
  return new Map(rows.map(([id, text]) => [String(id), String(text).replace(/^#+ /gm, '')]))
}

interface FoundChunk {
  readonly id: string
  readonly chunk_id: string
  readonly chunk_content: string
  readonly metadata: Readonly<Record<string, unknown>>
}

function chunkRow({ id, chunk_id: chunkId, chunk_content: text, metadata }: FoundChunk): Row {
  const { start_char: start, end_char: end, content_column: column, title } = metadata
  const hasPlace = typeof start === 'number' && typeof end === 'number'
  const named = typeof column === 'string' ? column : undefined
  return {
    key: chunkId,
    id,
    title: typeof title === 'string' && title !== '' ? title : id,
    excerpt: text.slice(0, 400),
    size: hasPlace ? `characters ${shownCount(start)}–${shownCount(end)}` : '',
    metadata,
    ...(hasPlace ? { place: { start, end, column: named, chunkId } } : {}),
  }
}
