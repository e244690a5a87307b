/** A finished map with its picture, colours and selection. */
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import {
  type MapAddress,
  type MapPoints,
  type MapRecord,
  type MapRegion,
  readChunks,
  readPoints,
} from '../../api/maps.ts'
import { ApiError } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { Failure, Loading } from '../../components/failure.tsx'
import { type Resource, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellFailed } from '../../shell/notices.tsx'
import { MapCanvas } from './map-canvas.tsx'
import { MapColouring, MapLegend, MapRegionsList } from './map-lists.tsx'
import {
  isOutdated,
  SELECTION_KEYS,
  type Selection,
  selectedPoints,
  selectionIn,
  visibleBox,
} from './map-model.ts'
import { MapSelection } from './map-selection.tsx'
import { colouredByRegion, useColours } from './point-colours.ts'

interface MapBoardProps extends KnowledgeBaseName {
  readonly map: NonNullable<MapRecord['map']>
  readonly note: string | null
  /** Called when there is a newer map. */
  readonly onStale: () => void
}

export function MapBoard({ project, name, map, note, onStale }: MapBoardProps) {
  const { address, regions, points, failure, reload } = useShownMap({ project, name }, map)
  const { query, change, look, leave } = useMapAddress()
  const opening = useLastSignal()
  const colours = useColours(address, { column: query.colour, query: query.q })
  const plain = useMemo(() => points && colouredByRegion(points, regions), [points, regions])
  const coloured = colours.data ?? plain
  const isWaiting = colours.data === undefined && (query.colour ?? query.q) !== undefined
  const { version } = address
  const { values } = colours
  const selection = useMemo(() => selectionIn(query), [JSON.stringify(query)])
  const chosen = useMemo(() => {
    if (!points) return null
    return selectedPoints(selection, { version, points, regions, values })
  }, [points, regions, version, values, selection])
  useEffect(() => {
    if (isStale(failure) || isStale(colours.failure)) onStale()
  }, [failure, colours.failure])
  if (!points || !coloured) {
    if (failure) return <Failure error={failure} onRetry={reload} />
    return <Loading what="the points" />
  }
  const select = (next: Selection | undefined) => change({ ...NOTHING, ...next })
  const selected = JSON.stringify(selection)
  return (
    <div class="map-board">
      <div class="stack">
        <MapColouring
          project={project}
          name={name}
          column={query.colour ?? ''}
          searched={query.q ?? ''}
          onColour={(by) => change({ colour: null, q: null, ...NOTHING, ...by })}
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
          onLook={look}
          onSelect={(view) => select(visibleBox(view, version))}
          onOpen={(point) => void openPoint(address, point, { signal: opening(), leave, onStale })}
        />
      </div>
      <aside class="stack">
        {isOutdated(selection, version) && <Outdated onClear={() => select(undefined)} />}
        {chosen && (
          <MapSelection
            address={address}
            chosen={chosen}
            searched={query.q ?? ''}
            onClear={() => select(undefined)}
          />
        )}
        {isWaiting && !colours.failure && <Loading what="the colours" />}
        {coloured.legend && (
          <MapLegend legend={coloured.legend} selected={selected} onSelect={select} />
        )}
        <MapRegionsList
          regions={regions}
          version={version}
          isLegend={coloured.legend === null && !isWaiting}
          selected={selected}
          onSelect={select}
        />
      </aside>
    </div>
  )
}

/** The selection belongs to an older map, where regions and rectangles had other points. */
function Outdated({ onClear }: { readonly onClear: () => void }) {
  return (
    <section class="panel stack" aria-label="Selection">
      <p class="small" role="status">
        The documents have changed, and so has the map. Select the points again.
      </p>
      <Button look="small" label="Clear the selection" onClick={onClear} />
    </section>
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

function isStale(failure: Error | undefined): boolean {
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

interface Leaving {
  readonly signal: AbortSignal
  readonly leave: (to: string) => void
  readonly onStale: () => void
}

async function openPoint(
  address: MapAddress,
  point: number,
  { signal, leave, onStale }: Leaving,
): Promise<void> {
  try {
    const [item] = await readChunks(address, [point], signal)
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
  } catch (error) {
    if (signal.aborted) return
    tellFailed(error)
    if (isStale(error instanceof Error ? error : undefined)) onStale()
  }
}

/** The address change that clears the selection. */
const NOTHING: Change = Object.fromEntries(SELECTION_KEYS.map((key) => [key, null]))

/** null removes a parameter from the address. */
type Change = Readonly<Record<string, string | null>>

interface MapAddressing {
  readonly query: Readonly<Record<string, string>>
  readonly change: (change: Change) => void
  /** Stores the visible part in the address; the Back button does not undo single moves. */
  readonly look: (text: string | undefined) => void
  /** Leaves the view, keeping the visible part for the Back button. */
  readonly leave: (to: string) => void
}

/** Written after the last move, because browsers refuse an address that changes in every frame. */
const SETTLED_MS = 250

/** The address of the map, and the ways to change it. */
function useMapAddress(): MapAddressing {
  const { query, route } = useLocation()
  const waiting = useRef<{ timer: number; text: string | undefined } | null>(null)
  const write = () => {
    const { current } = waiting
    if (current === null) return
    clearTimeout(current.timer)
    waiting.current = null
    history.replaceState(null, '', addressWith({ at: current.text ?? null }))
  }
  useEffect(() => {
    return () => {
      clearTimeout(waiting.current?.timer)
      // Nothing more is written, because the URL now belongs to another view.
      waiting.current = null
    }
  }, [])
  return {
    query,
    change: (change) => {
      write()
      route(addressWith(change))
    },
    look: (text) => {
      clearTimeout(waiting.current?.timer)
      waiting.current = { timer: window.setTimeout(write, SETTLED_MS), text }
    },
    leave: (to) => {
      write()
      route(to)
    },
  }
}

function addressWith(change: Change): string {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(change)) {
    if (value === null) query.delete(name)
    else query.set(name, value)
  }
  return `${location.pathname}${query.size === 0 ? '' : `?${query}`}`
}
