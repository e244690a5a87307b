/** The documents of a knowledge base, or their chunks: looked through, narrowed down, deleted. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { addressOfApi, findWords, listChunks, listDocuments } from '../../../api/documents.ts'
import { type ColumnTypes, type Filters, literalWhereOf } from '../../../api/filters.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { quoted } from '../../../api/sql.ts'
import { Button, Icon } from '../../../components/button.tsx'
import { EmptyState, Failure, Loading } from '../../../components/failure.tsx'
import { counted, shownCount } from '../../../components/numbers.ts'
import { useResource } from '../../../components/resource.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { useShortcuts } from '../../../shell/keyboard.tsx'
import { KnowledgeBaseFrame } from '../knowledge-base-frame.tsx'
import { FacetPanel } from './facet-panel.tsx'
import { FilterChips } from './filter-chips.tsx'
import { type ListAddress, listAddressOf, PAGE_ROWS, queryOfList } from './list-address.ts'
import { ListedRows, type Row } from './listed-rows.tsx'
import { SelectionBar } from './selection-bar.tsx'
import { TypedInput } from './typed-input.tsx'

export function DocumentsView({ project, name }: KnowledgeBaseName) {
  const { query, path: here, route } = useLocation()
  const shown = listAddressOf(query)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isWhole, setIsWhole] = useState(false)
  const select = (ids: ReadonlySet<string>) => {
    setIsWhole(false)
    setSelected(ids)
  }
  // Whichever way another list or page came, "all" was said of the one before.
  useLayoutEffect(() => setIsWhole(false), [here, queryOfList(shown)])
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
    select(new Set())
    route(`${here}${queryOfList({ ...shown, page: 1, cursor: undefined, ...change })}`)
  }
  // What was shown last stays until the next page is there: nothing jumps, and the focus stays.
  const last = useRef<{ readonly listed: Page; readonly place: ListAddress } | undefined>(undefined)
  const isPastEnd = shown.page > 1 && page.data?.rows.length === 0
  if (page.data !== undefined) {
    last.current = isPastEnd ? undefined : { listed: page.data, place: shown }
  }
  const listed = page.data ?? (page.isLoading ? last.current?.listed : undefined)
  // Of the rows that are there: whoever selects and deletes them reads which ones they are.
  const place = page.data === undefined ? (last.current?.place ?? shown) : shown
  // What stood on the last page was deleted: there may be others before it.
  useLayoutEffect(() => {
    if (isPastEnd) route(`${here}${queryOfList({ ...shown, page: 1, cursor: undefined })}`, true)
  }, [isPastEnd])
  const isNarrowed = shown.words !== '' || Object.keys(shown.filters).length > 0
  const isEmpty = listed?.rows.length === 0
  const isChunks = shown.shows === 'chunks'
  // Not of the list before: its total is not that of these filters.
  const total = shown.words === '' ? (page.data?.total ?? null) : null
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
          <FilterChips shown={shown} onShow={show} />
          <SelectionBar
            of={{ project, name }}
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
          {isEmpty && (
            <Nothing
              isNarrowed={isNarrowed}
              of={{ project, name }}
              onClear={() => show({ words: '', filters: {} })}
            />
          )}
          {listed && !isEmpty && (
            <div class="stack" aria-busy={page.isLoading}>
              <div class="row small quiet">
                <span class="grow" role="status">
                  {wordsOfPlace(place.page, listed.rows.length, listed.total)}
                </span>
                <ExportLinks of={{ project, name }} shown={shown} types={kb.data?.metadata_types} />
              </div>
              <ListedRows
                of={{ project, name }}
                rows={listed.rows}
                selected={isChunks ? undefined : selected}
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

/** `51–100 of 1,398`. */
function wordsOfPlace(page: number, rows: number, total: number | null): string {
  const first = (page - 1) * PAGE_ROWS
  const place = `${shownCount(first + 1)}–${shownCount(first + rows)}`
  return total === null ? `${place}, the best first` : `${place} of ${shownCount(total)}`
}

interface NothingProps {
  readonly isNarrowed: boolean
  readonly of: KnowledgeBaseName
  readonly onClear: () => void
}

function Nothing({ isNarrowed, of: { project, name }, onClear }: NothingProps) {
  if (isNarrowed) {
    return (
      <EmptyState icon="filter" title="Nothing matches">
        <Button label="Show everything" onClick={onClear} />
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

interface ExportLinksProps {
  readonly of: KnowledgeBaseName
  readonly shown: ListAddress
  readonly types: ColumnTypes | undefined
}

/** An address may not be longer everywhere. */
const ADDRESS_CHARS_MAX = 4000

/** What is listed, out of here: as a statement, whose rows the SQL view writes to a file, or the whole with its vectors. */
function ExportLinks({ of, shown, types = {} }: ExportLinksProps) {
  const statement = statementOf(of, shown.filters, types)
  return (
    <>
      {statement !== undefined && statement.length < ADDRESS_CHARS_MAX && (
        <a href={statement} class="button small">
          <Icon name="sql" />
          In SQL
        </a>
      )}
      <a href={`${addressOfApi(of)}/export`} class="button small" download>
        <Icon name="download" />
        Export all with vectors
      </a>
    </>
  )
}

/** Undefined: the address holds a condition that SQL has no word for here. */
function statementOf(
  { project, name }: KnowledgeBaseName,
  filters: Filters,
  types: ColumnTypes,
): string | undefined {
  try {
    const where = literalWhereOf(filters, types)
    const from = `${quoted(project)}.${quoted(name)}`
    return addressOf.statement(`SELECT * FROM ${from}${where} LIMIT 1000`)
  } catch {
    return undefined
  }
}

interface PagesProps {
  readonly here: string
  readonly shown: ListAddress
  readonly next: string | null
  /** Of all rows; null: nobody counted. */
  readonly total: number | null
}

/** Which page of how many, and the way to the others. */
function Pages({ here, shown, next, total }: PagesProps) {
  const { route } = useLocation()
  if (shown.page === 1 && next === null) return null
  const last = total === null ? null : Math.max(1, Math.ceil(total / PAGE_ROWS))
  const to = (page: number, cursor?: string) => {
    return `${here}${queryOfList({ ...shown, page, cursor: cursor || undefined })}`
  }
  const toTop = () => scrollTo({ top: 0 })
  const jump = (text: string) => {
    const page = Math.max(1, Math.min(Number.parseInt(text, 10) || 1, last ?? 1))
    if (page === shown.page) return
    toTop()
    route(to(page))
  }
  return (
    <nav class="row" aria-label="Pages">
      {shown.page > 1 && (
        <a class="button small" href={to(shown.page - 1)} onClick={toTop}>
          Previous page
        </a>
      )}
      {last === null ? (
        <span class="small quiet">Page {shown.page}</span>
      ) : (
        <span class="row small quiet">
          Page
          <TypedInput
            kind="number"
            label="Page"
            class="kb-page"
            min={1}
            max={last}
            value={String(shown.page)}
            onCommit={jump}
          />
          of {shownCount(last)}
        </span>
      )}
      {next !== null && (
        <a class="button small" href={to(shown.page + 1, next)} onClick={toTop}>
          Next page
        </a>
      )}
    </nav>
  )
}

interface ListSearchProps {
  readonly shown: ListAddress
  readonly onShow: (change: Partial<ListAddress>) => void
}

/** What the list shows, and the words it is searched by. */
function ListSearch({ shown, onShow }: ListSearchProps) {
  const [words, setWords] = useState(shown.words)
  useLayoutEffect(() => setWords(shown.words), [shown.words])
  const box = useRef<HTMLInputElement>(null)
  useShortcuts([{ keys: '/', does: 'Find words in the list', run: () => box.current?.select() }])
  return (
    <form
      class="row"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        onShow({ words: words.trim() })
      }}
    >
      <fieldset class="kb-switch" aria-label="What is listed">
        {(['documents', 'chunks'] as const).map((one) => (
          <Button
            label={one === 'documents' ? 'Documents' : 'Chunks'}
            key={one}
            aria-pressed={shown.shows === one}
            onClick={() => onShow({ shows: one })}
          />
        ))}
      </fieldset>
      <input
        ref={box}
        class="grow"
        type="search"
        aria-label="Words to find in this list"
        placeholder="Find words"
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <select
        class="kb-within"
        aria-label="Where to find them"
        value={shown.within}
        onChange={(event) =>
          onShow({
            words: words.trim(),
            within: event.currentTarget.value === 'name' ? 'name' : 'text',
          })
        }
      >
        <option value="text">in texts</option>
        <option value="name">in titles and ids</option>
      </select>
      <Button type="submit" icon="search" label="Find" />
    </form>
  )
}

/** As many as a search by words gives. */
const FOUND_MAX = 10_000

interface Page {
  readonly rows: readonly Row[]
  /** Null: nobody counted. */
  readonly total: number | null
  readonly next: string | null
}

/** One page of the list, as its address says. @throws ApiError */
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

function chunkRow({ id, chunk_id: chunkId, chunk_content: text, metadata }: FoundChunk): Row {
  const { start_char: start, end_char: end, content_column: column, title } = metadata
  const hasPlace = typeof start === 'number' && typeof end === 'number'
  return {
    key: chunkId,
    id,
    title: typeof title === 'string' && title !== '' ? title : id,
    facts: hasPlace ? `characters ${start}–${end}` : '',
    metadata: {},
    excerpt: text.slice(0, 400),
    ...(hasPlace
      ? { place: { start, end, column: typeof column === 'string' ? column : undefined, chunkId } }
      : {}),
  }
}
