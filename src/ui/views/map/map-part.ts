/** A part of a map as a filter: its documents, found by what a short address says of it. */
import {
  type MapAddress,
  type PointValues,
  readMap,
  readPoints,
  readValues,
} from '../../api/maps.ts'
import { selectedPoints, selectionOf } from './map-address.ts'
import { PointIndex } from './point-index.ts'

/** What is selected, and what colours the points, as the address of the map says it. */
export interface MapPart {
  readonly select: string
  readonly colour: string | undefined
  readonly q: string | undefined
}

export function textOfPart({ select, colour, q }: MapPart): string {
  return String(
    new URLSearchParams({
      select,
      ...(colour === undefined ? {} : { colour }),
      ...(q === undefined ? {} : { q }),
    }),
  )
}

function partOf(text: string): MapPart {
  const query = new URLSearchParams(text)
  return {
    select: query.get('select') ?? '',
    colour: query.get('colour') ?? undefined,
    q: query.get('q') ?? undefined,
  }
}

/** Chunks of one of these documents. */
export function documentFilter(ids: readonly string[]): Readonly<Record<string, unknown>> {
  return { id: { in: ids } }
}

/**
 * The documents that have a chunk in a part of the map.
 * @throws ApiError; Error where the map has changed so that the part is none of it
 */
export async function documentsOfPart(
  { project, name }: Pick<MapAddress, 'project' | 'name'>,
  text: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const part = partOf(text)
  const { map } = await readMap(project, name, { signal, isRetry: false })
  if (map === null) throw new Error('There is no map yet. Open it and select once more')
  const { version, regions } = map
  const address = { project, name, version }
  const { colour, q } = part
  const by = q !== undefined ? { query: q } : colour !== undefined ? { column: colour } : null
  const [points, ids, values] = await Promise.all([
    readPoints(address, signal),
    readValues(address, { column: 'id' }, signal),
    by === null ? undefined : readValues(address, by, signal),
  ])
  const index = new PointIndex(points)
  const found = selectedPoints(selectionOf(part.select), {
    version,
    points,
    index,
    regions,
    values,
  })
  if (found !== null) return idsOf(ids, found)
  throw new Error(
    'Documents have changed, and the map is another one by now. Open it and select once more',
  )
}

function idsOf(ids: PointValues, points: ReadonlySet<number>): readonly string[] {
  if (ids.kind !== 'categories') return []
  const { values, codes } = ids
  const found = new Set<string>()
  for (const point of points) {
    const id = values[(codes[point] ?? 0) - 1]?.value
    if (id !== undefined) found.add(id)
  }
  return [...found]
}
