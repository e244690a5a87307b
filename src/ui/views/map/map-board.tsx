/** A map that is there: its picture, what colours it, what is selected. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
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
import { counted, shownCount } from '../../components/numbers.ts'
import { type Resource, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellFailed } from '../../shell/notices.tsx'
import {
  isOfValues,
  isOutdated,
  lineSelection,
  regionSelection,
  type Selection,
  selectedPoints,
  selectionOf,
  textOfSelection,
  useMapAddress,
} from './map-address.ts'
import { MapCanvas } from './map-canvas.tsx'
import { MapColouring } from './map-colouring.tsx'
import { MapSelection } from './map-selection.tsx'
import {
  colouredByRegion,
  FAINT,
  GRADIENT,
  GRADIENT_STEPS,
  type LegendEntry,
  OTHERS,
  placeOfRegion,
  useColours,
} from './point-colours.ts'
import { PointIndex } from './point-index.ts'
import type { PointerTool } from './pointer-moves.ts'

interface MapBoardProps extends KnowledgeBaseName {
  readonly map: NonNullable<MapRecord['map']>
  readonly note: string | null
  /** There is a newer map by now. */
  readonly onStale: () => void
}

export function MapBoard({ project, name, map, note, onStale }: MapBoardProps) {
  const { address, regions, points, failure, reload } = useShownMap({ project, name }, map)
  const { query, change, look, leave } = useMapAddress()
  const opening = useLastSignal()
  const [tool, setTool] = useState<PointerTool>('move')
  const colours = useColours(address, { column: query.colour, query: query.q })
  const plain = useMemo(() => points && colouredByRegion(points, regions), [points, regions])
  const index = useMemo(() => points && new PointIndex(points), [points])
  const coloured = colours.data ?? plain
  const isWaiting = colours.data === undefined && (query.colour ?? query.q) !== undefined
  const { version } = address
  const { values } = colours
  const selection = useMemo(() => selectionOf(query.select), [query.select])
  const chosen = useMemo(() => {
    if (!points || !index) return null
    return selectedPoints(selection, { version, points, index, regions, values })
  }, [points, index, regions, version, values, selection])
  useEffect(() => {
    if (isStale(failure) || isStale(colours.failure)) onStale()
  }, [failure, colours.failure])
  if (!points || !index || !coloured) {
    if (failure) return <Failure error={failure} onRetry={reload} />
    return <Loading what="the points" />
  }
  const select = (next: Selection | null) => {
    change({ select: next === null ? null : textOfSelection(next) })
  }
  return (
    <div class="map-board">
      <div class="stack">
        <MapColouring
          project={project}
          name={name}
          column={query.colour ?? ''}
          searched={query.q ?? ''}
          tool={tool}
          onTool={setTool}
          onColour={(by) =>
            change({
              colour: null,
              q: null,
              ...(isOfValues(selection) ? { select: null } : {}),
              ...by,
            })
          }
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
          index={index}
          regions={regions}
          coloured={coloured}
          chosen={chosen}
          best={colours.best}
          tool={tool}
          onLine={(line) => {
            select(index.inside(line).length === 0 ? null : lineSelection(line, version))
          }}
          onLook={look}
          onOpen={(point) => void openPoint(address, point, { signal: opening(), leave, onStale })}
        />
      </div>
      <aside class="stack">
        {isOutdated(selection, version) && <Outdated onClear={() => select(null)} />}
        {chosen && (
          <MapSelection
            address={address}
            chosen={chosen}
            part={{ select: query.select ?? '', colour: query.colour, q: query.q }}
            onClear={() => select(null)}
          />
        )}
        {isWaiting && !colours.failure && <Loading what="the colours" />}
        {coloured.legend && (
          <MapLegend legend={coloured.legend} selected={query.select} onSelect={select} />
        )}
        <MapRegionsList
          regions={regions}
          version={version}
          isLegend={coloured.legend === null && !isWaiting}
          selected={query.select}
          onSelect={select}
        />
      </aside>
    </div>
  )
}

/** A line goes around other points on another map. */
function Outdated({ onClear }: { readonly onClear: () => void }) {
  return (
    <section class="panel stack" aria-label="Selection">
      <p class="small" role="status">
        Documents have changed, and the points lie elsewhere on the new map. Select them once more.
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

/** Until the points of a newer map are read, the former one stays. */
function useShownMap(
  { project, name }: KnowledgeBaseName,
  { version, regions }: MapBoardProps['map'],
): ShownMap & Pick<Resource<MapPoints>, 'failure' | 'reload'> {
  const newest = useMemo(() => ({ project, name, version }), [project, name, version])
  const read = useResource((signal) => readPoints(newest, signal), [newest])
  const { data: points, failure, reload } = read
  const kept = useRef<ShownMap>({ address: newest, regions, points })
  const { current } = kept
  // The state is read again and again: the regions of one version are the same.
  const isFirst = current.points === undefined && current.address !== newest
  if (points === undefined ? isFirst : points !== current.points) {
    kept.current = { address: newest, regions, points }
  }
  return { ...kept.current, failure, reload }
}

function isStale(failure: Error | undefined): boolean {
  return failure instanceof ApiError && failure.code === 'map_not_ready'
}

/** @returns a signal that the next one aborts, and leaving the view */
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

/** Shows the chunk in its document. */
async function openPoint(
  address: MapAddress,
  point: number,
  { signal, leave, onStale }: Leaving,
): Promise<void> {
  try {
    const [item] = await readChunks(address, [point], signal)
    if (signal.aborted) return
    const chunk = item?.chunk ?? null
    if (chunk === null) throw new Error('This chunk was deleted since the map was made')
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

interface MapLegendProps {
  readonly legend: readonly LegendEntry[]
  /** What is selected, as the address says it. */
  readonly selected: string | undefined
  readonly onSelect: (selection: Selection) => void
}

/** What the colours of the points mean: each entry selects the points that have it. */
function MapLegend({ legend, selected, onSelect }: MapLegendProps) {
  return (
    <section class="panel stack" aria-label="Colours of the points">
      <h2>Colours</h2>
      <ul class="map-list" aria-label="Colours">
        {legend.map(({ label, count, first, last, selection }) => (
          <li key={first}>
            <button
              type="button"
              class="map-entry"
              title="Select these chunks"
              aria-pressed={selected === textOfSelection(selection)}
              onClick={() => onSelect(selection)}
            >
              <MapSwatch place={(first + last) / 2} />
              <span class="one-line" dir="auto">
                {label}
              </span>
              <span class="quiet small">{shownCount(count)}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface MapRegionsListProps {
  readonly regions: readonly MapRegion[]
  /** Of the map. */
  readonly version: string
  /** Regions colour the points. */
  readonly isLegend: boolean
  /** What is selected, as the address says it. */
  readonly selected: string | undefined
  readonly onSelect: (selection: Selection) => void
}

/** The regions as a list: what the picture shows, for those who do not see it, and what its colours mean. */
function MapRegionsList(props: MapRegionsListProps) {
  return (
    <section class="panel stack" aria-label="Regions">
      <h2>Regions</h2>
      <Parts of={null} {...props} />
    </section>
  )
}

interface PartsProps extends MapRegionsListProps {
  /** Index of the region; null: of the map. */
  readonly of: number | null
}

function Parts(props: PartsProps) {
  const { of, regions, version, isLegend, selected, onSelect } = props
  const parts = regions
    .map((region, index) => ({ region, index }))
    .filter(({ region }) => region.parent === of)
    .toSorted((a, b) => b.region.point_count - a.region.point_count)
  // A region of one part is that part.
  if (parts.length === 0 || (of !== null && parts.length === 1)) return null
  const list = (
    <ul class="map-list">
      {parts.map(({ region, index }) => (
        <li key={index}>
          <button
            type="button"
            class="map-entry"
            title="Select these chunks"
            aria-pressed={selected === textOfSelection(regionSelection(regions, index, version))}
            onClick={() => onSelect(regionSelection(regions, index, version))}
          >
            {of === null && isLegend && <MapSwatch place={placeOfRegion(regions, index)} />}
            <span class="map-words" dir="auto">
              {region.words.join(' · ') || 'no words of its own'}
            </span>
            <span class="quiet small">{shownCount(region.point_count)}</span>
          </button>
          <Parts {...props} of={index} />
        </li>
      ))}
    </ul>
  )
  if (of === null) return list
  return (
    <details class="map-parts">
      <summary class="small quiet">{counted(parts.length, 'part')}</summary>
      {list}
    </details>
  )
}

/** A colour of points, as a legend shows it. */
function MapSwatch({ place }: { readonly place: number }) {
  return <span class="map-swatch" style={{ background: colourOf(place) }} />
}

/** @param place in the palette; between two of a gradient, what lies between them */
function colourOf(place: number): string {
  if (place === FAINT) return 'var(--line)'
  if (place === OTHERS) return 'var(--edge)'
  if (place < GRADIENT) return `var(--series-${place})`
  const share = (100 * (place - GRADIENT)) / (GRADIENT_STEPS - 1)
  return `color-mix(in srgb, var(--series-3) ${share}%, var(--map-low))`
}
