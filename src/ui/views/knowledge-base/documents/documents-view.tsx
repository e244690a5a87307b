/** The documents of a knowledge base, or their chunks: looked through, narrowed down, deleted. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { Button } from '../../../components/button.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'
import { shownCount } from '../../../format/numbers.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { KnowledgeBaseFrame } from '../knowledge-base-frame.tsx'
import { ExportLinks } from './export-links.tsx'
import { FacetPanel } from './facets/facet-panel.tsx'
import { FilterChips } from './filter-chips.tsx'
import { type ListAddress, listAddressOf, PAGE_ROWS, queryOfList } from './list-address.ts'
import { ListSearch } from './list-search.tsx'
import { ListedRows } from './listed-rows.tsx'
import { Pages } from './pages.tsx'
import { type Page, readPage } from './read-page.ts'
import { SelectionBar } from './selection-bar.tsx'

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
