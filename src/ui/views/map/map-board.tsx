/** A map that is there: its picture, what colours it, what is selected. */

import { useMemo, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type MapAddress, type MapRecord, readChunks, readPoints } from '../../api/maps.ts'
import { Failure } from '../../components/failure.tsx'
import { Loading } from '../../components/progress.tsx'
import { useResource } from '../../components/resource.ts'
import { counted } from '../../format/numbers.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellFailed } from '../../shell/notices.tsx'
import type { KnowledgeBaseAddress } from '../knowledge-base/knowledge-base-frame.tsx'
import { MapCanvas } from './map-canvas.tsx'
import { MapColouring } from './map-colouring.tsx'
import { MapLegend } from './map-legend.tsx'
import { MapRegionsList } from './map-regions-list.tsx'
import { MapSelection } from './map-selection.tsx'
import { colouredByRegion, useColours } from './point-colours.ts'
import type { PointerTool } from './pointer-moves.ts'

interface MapBoardProps extends KnowledgeBaseAddress {
  readonly map: NonNullable<MapRecord['map']>
  readonly note: string | null
}

export function MapBoard({ project, name, map, note }: MapBoardProps) {
  const { version, regions } = map
  const address = useMemo(() => ({ project, name, version }), [project, name, version])
  const { query, route } = useLocation()
  const [tool, setTool] = useState<PointerTool>('move')
  const [chosen, setChosen] = useState<ReadonlySet<number> | null>(null)
  const read = useResource((signal) => readPoints(address, signal), [address])
  const points = read.data
  const colours = useColours(address, { column: query.colour, query: query.q })
  const plain = useMemo(() => points && colouredByRegion(points, regions), [points, regions])
  const coloured = colours.data ?? plain
  if (read.failure) return <Failure error={read.failure} onRetry={read.reload} />
  if (points === undefined || coloured === undefined) return <Loading what="the points" />
  const choose = (found: Iterable<number>) => {
    const all = new Set(found)
    setChosen(all.size === 0 ? null : all)
  }
  const colourBy = (by: Readonly<Record<string, string>>) => {
    const sent = new URLSearchParams(by)
    route(`${addressOf.map(project, name)}${sent.size === 0 ? '' : `?${sent}`}`, true)
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
          onColour={colourBy}
        />
        {colours.failure && <Failure error={colours.failure} onRetry={colours.reload} />}
        <MapCanvas
          address={address}
          points={points}
          regions={regions}
          places={coloured.places}
          chosen={chosen}
          best={colours.best}
          tool={tool}
          onChosen={choose}
          onOpen={(point) => void openPoint(address, point, route)}
        />
        {note && (
          <p class="small quiet" role="status">
            {note}
          </p>
        )}
      </div>
      <aside class="stack">
        <section class="panel stack" aria-label="Colours of the points">
          <p class="small quiet">{counted(map.point_count, 'chunk')}</p>
          <MapLegend legend={coloured.legend} />
        </section>
        {chosen && (
          <MapSelection address={address} chosen={chosen} onClear={() => setChosen(null)} />
        )}
        <MapRegionsList
          regions={regions}
          onChosen={(region) => choose(pointsOf(region, points.regions, regions))}
        />
      </aside>
    </div>
  )
}

function* pointsOf(
  region: number,
  regionOf: Uint16Array,
  regions: MapBoardProps['map']['regions'],
): Generator<number> {
  const isWithin = regions.map((_, at) => {
    for (let up: number | null = at; up !== null; up = regions[up]?.parent ?? null) {
      if (up === region) return true
    }
    return false
  })
  for (const [point, own] of regionOf.entries()) if (isWithin[own]) yield point
}

/** Shows the chunk in its document. */
async function openPoint(
  address: MapAddress,
  point: number,
  route: (to: string) => void,
): Promise<void> {
  try {
    const [item] = await readChunks(address, [point])
    const chunk = item?.chunk ?? null
    if (chunk === null) throw new Error('This chunk was deleted since the map was made')
    const { start_char: start, end_char: end, content_column: column } = chunk.metadata
    const place = {
      documentId: chunk.id,
      start: Number(start ?? 0),
      end: Number(end ?? chunk.chunk_content.length),
      column: typeof column === 'string' ? column : undefined,
    }
    route(addressOf.chunk(address.project, address.name, place))
  } catch (error) {
    tellFailed(error)
  }
}
