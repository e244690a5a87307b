/** A finished map with its picture, colours and selection. */
import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import {
  type MapAddress,
  type MapPoints,
  type MapRecord,
  type MapRegion,
  type PointValues,
  readChunks,
  readPoints,
  readValues,
} from '../../api/maps.ts'
import { ApiError } from '../../api/request.ts'
import { Button, CopyButton } from '../../components/button.tsx'
import { Failure, Loading } from '../../components/failure.tsx'
import { knownOf } from '../../components/known-name.ts'
import { counted } from '../../components/numbers.ts'
import { LISTED_MAX, Loaded } from '../../components/record-list.tsx'
import { type Resource, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellFailed } from '../../shell/notices.tsx'
import { MapCanvas } from './map-canvas.tsx'
import { MapColouring, MapLegend, MapRegionsList } from './map-lists.tsx'
import { type Selection, selectedPoints, visibleBox } from './map-model.ts'
import { colouredByRegion, useColours } from './point-colours.ts'

interface MapBoardProps extends KnowledgeBaseName {
  readonly map: NonNullable<MapRecord['map']>
  readonly note: string | null
  /** Called when there is a newer map. */
  readonly onStale: () => void
}

/** The selection, which is still there after a document was opened from it. */
const selected = signal<{ readonly of: string; readonly selection: Selection } | undefined>(
  undefined,
)

export function MapBoard({ project, name, map, note, onStale }: MapBoardProps) {
  const { address, regions, points, failure, reload } = useShownMap({ project, name }, map)
  const { query, path, route } = useLocation()
  const opening = useLastSignal()
  const colours = useColours(address, { column: query.colour, query: query.q })
  const plain = useMemo(() => points && colouredByRegion(points, regions), [points, regions])
  const coloured = colours.data ?? plain
  const isWaiting = colours.data === undefined && (query.colour ?? query.q) !== undefined
  // On another map or with other colours, the selection would mean other points.
  const of = JSON.stringify([address, query.colour, query.q])
  const selection = selected.value?.of === of ? selected.value.selection : undefined
  const chosen = useMemo(() => {
    if (!points || !coloured) return null
    return selectedPoints(selection, { points, regions, places: coloured.places })
  }, [points, regions, coloured, selection])
  useEffect(() => {
    if (isStale(failure) || isStale(colours.failure)) onStale()
  }, [failure, colours.failure])
  if (!points || !coloured) {
    if (failure) return <Failure error={failure} onRetry={reload} />
    return <Loading what="the points" />
  }
  const select = (next: Selection) => {
    selected.value = { of, selection: next }
  }
  const clear = () => {
    selected.value = undefined
  }
  const pressed = JSON.stringify(selection)
  return (
    <div class="with-side">
      <div class="stack">
        <MapColouring
          project={project}
          name={name}
          column={query.colour ?? ''}
          searched={query.q ?? ''}
          onColour={(by) => route(`${path}?${new URLSearchParams(by)}`)}
        />
        {note && (
          <p class="small quiet" role="status">
            {note}
          </p>
        )}
        {failure && <Failure error={failure} onRetry={reload} />}
        {colours.failure && <Failure error={colours.failure} onRetry={colours.reload} />}
        <MapCanvas
          address={address}
          points={points}
          regions={regions}
          coloured={coloured}
          chosen={chosen}
          best={colours.best}
          onSelect={(view) => select(visibleBox(view))}
          onOpen={(point) => {
            openPoint(address, point, opening(), route).catch((error: unknown) => {
              tellFailed(error)
              if (isStale(error)) onStale()
            })
          }}
        />
      </div>
      <aside class="stack side">
        {chosen && (
          <MapSelection
            address={address}
            chosen={chosen}
            searched={query.q ?? ''}
            onClear={clear}
          />
        )}
        {isWaiting && !colours.failure && <Loading what="the colours" />}
        {coloured.legend && (
          <MapLegend legend={coloured.legend} selected={pressed} onSelect={select} />
        )}
        <MapRegionsList
          regions={regions}
          isLegend={coloured.legend === null && !isWaiting}
          selected={pressed}
          onSelect={select}
        />
      </aside>
    </div>
  )
}

interface ShownMap {
  readonly address: MapAddress
  readonly regions: readonly MapRegion[]
  readonly points: MapPoints | undefined
}

/** Keeps the previous map until the points of a newer one are loaded. */
function useShownMap(
  { project, name }: KnowledgeBaseName,
  { version, regions }: MapBoardProps['map'],
): ShownMap & Pick<Resource<MapPoints>, 'failure' | 'reload'> {
  const newest = useMemo(() => ({ project, name, version }), [project, name, version])
  const read = useResource((signal) => readPoints(newest, signal), [newest])
  const { data: points, failure, reload } = read
  const kept = useRef<ShownMap>({ address: newest, regions, points })
  const { current } = kept
  // The state is polled, but the regions of one version never change.
  const isFirst = current.points === undefined && current.address !== newest
  if (points === undefined ? isFirst : points !== current.points) {
    kept.current = { address: newest, regions, points }
  }
  return { ...kept.current, failure, reload }
}

function isStale(failure: unknown): boolean {
  return failure instanceof ApiError && failure.code === 'map_not_ready'
}

/** @returns makes a signal that aborts when the next is made or the view closes */
function useLastSignal(): () => AbortSignal {
  const last = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => last.current?.abort(), [])
  return () => {
    last.current?.abort()
    last.current = new AbortController()
    return last.current.signal
  }
}

async function openPoint(
  address: MapAddress,
  point: number,
  signal: AbortSignal,
  leave: (to: string) => void,
): Promise<void> {
  const [item] = await readChunks(address, [point], signal).catch((error: unknown) => {
    if (signal.aborted) return []
    throw error
  })
  if (signal.aborted) return
  const chunk = item?.chunk ?? null
  if (chunk === null) throw new Error('This chunk was deleted after the map was created')
  const { start_char: start, end_char: end, content_column: column } = chunk.metadata
  const place = {
    documentId: chunk.id,
    start: Number(start ?? 0),
    end: Number(end ?? chunk.chunk_content.length),
    column: typeof column === 'string' ? column : undefined,
    chunkId: chunk.chunk_id,
  }
  leave(addressOf.chunk(address.project, address.name, place))
}

/** Proxies refuse longer URLs. */
const ADDRESS_CHARS_MAX = 7000

/** The selection on the map: its number of chunks and documents, and its actions. */
function MapSelection(props: {
  readonly address: MapAddress
  readonly chosen: ReadonlySet<number>
  /** The text that the map is coloured by, used as the query within the selection. */
  readonly searched: string
  readonly onClear: () => void
}) {
  const { address, chosen, searched, onClear } = props
  const { project, name } = address
  const hasTitles = knownOf('knowledgeBases', address)?.metadata_types.title === 'VARCHAR'
  const found = useResource(
    async (signal) => {
      const ids = readValues(address, { column: 'id' }, signal)
      const titles = hasTitles ? readValues(address, { column: 'title' }, signal) : null
      return { ids: await ids, titles: await titles }
    },
    [address, hasTitles],
  )
  const documents = useMemo(
    () => (found.data ? documentsOf(found.data, chosen) : []),
    [found.data, chosen],
  )
  const filter = JSON.stringify({ id: { in: documents.map(({ id }) => id) } })
  const isShort = encodeURIComponent(filter).length <= ADDRESS_CHARS_MAX
  const query = String(new URLSearchParams({ ...(searched && { q: searched }), filters: filter }))
  const search = `${isShort ? '?' : '#'}${query}`
  return (
    <section class="panel stack" aria-label="Selection">
      <div class="row">
        <h2 class="grow">
          <span role="status">{counted(chosen.size, 'chunk')} selected</span>
        </h2>
        <Button look="small" label="Clear" onClick={onClear} />
      </div>
      <Loaded of={found} what="the documents">
        {() => (
          <>
            <p class="small quiet">of {counted(documents.length, 'document')}</p>
            <div class="row">
              {documents.length > 0 && (
                <a class="button small" href={`${addressOf.searchLab(project, name)}${search}`}>
                  Search in them
                </a>
              )}
              {isShort && documents.length > 0 && (
                <a
                  class="button small"
                  href={`${addressOf.knowledgeBase(project, name)}?${new URLSearchParams({ filters: filter })}`}
                >
                  Show in Documents
                </a>
              )}
              <CopyButton label="Copy as a filter" text={filter} />
            </div>
            <ul class="list map-documents">
              {documents.slice(0, LISTED_MAX).map(({ id, title, count }) => (
                <li key={id} class="row">
                  <a class="one-line grow" href={addressOf.document(project, name, id)}>
                    {title ?? id}
                  </a>
                  <span class="quiet small">{count}</span>
                </li>
              ))}
            </ul>
            {documents.length > LISTED_MAX && (
              <p class="small quiet">
                and {counted(documents.length - LISTED_MAX, 'more', 'more')}
              </p>
            )}
          </>
        )}
      </Loaded>
    </section>
  )
}

interface ChosenDocument {
  readonly id: string
  readonly title: string | undefined
  /** How many of the document's chunks are selected. */
  readonly count: number
}

/** The documents with the most selected chunks first. */
function documentsOf(
  { ids, titles }: { readonly ids: PointValues; readonly titles: PointValues | null },
  chosen: ReadonlySet<number>,
): readonly ChosenDocument[] {
  const found = new Map<string, ChosenDocument>()
  for (const point of chosen) {
    const id = valueAt(ids, point)
    if (id === undefined) continue
    const title = found.get(id)?.title ?? (titles === null ? undefined : valueAt(titles, point))
    found.set(id, { id, title, count: 1 + (found.get(id)?.count ?? 0) })
  }
  return [...found.values()].sort((a, b) => b.count - a.count)
}

/** Returns undefined for a missing or empty value. */
function valueAt(values: PointValues, point: number): string | undefined {
  if (values.kind !== 'categories') return undefined
  return values.values[(values.codes[point] ?? 0) - 1]?.value || undefined
}
