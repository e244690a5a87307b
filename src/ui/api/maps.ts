/**
 * The map of a knowledge base: its state, its points as typed arrays, the values that colour them,
 * and their documents.
 */
import type * as maps from '../../api/http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import type { KnowledgeBaseName } from './knowledge-bases.ts'
import { bodyOf, path, request, requestStream } from './request.ts'

export type MapRecord = Wire<typeof maps.MAP>
export type MapRegion = NonNullable<MapRecord['map']>['regions'][number]
type MapChunk = Wire<typeof maps.MAP_CHUNKS>['items'][number]
type ValuesRecord = Wire<typeof maps.MAP_VALUES>

/** Includes the version, because each version of a map has other points. */
export interface MapAddress extends KnowledgeBaseName {
  readonly version: string
}

export interface MapPoints {
  readonly count: number
  readonly x: Uint16Array
  readonly y: Uint16Array
  /** The index of each point's region at the last level. */
  readonly regions: Uint16Array
}

/** The value of each point: one of a list of values, or a number. */
export type PointValues =
  | {
      readonly kind: 'categories'
      readonly values: readonly { readonly value: string; readonly count: number }[]
      /** The index in `values` plus 1; 0 for none. */
      readonly codes: Uint32Array
    }
  | { readonly kind: 'numbers' | 'times'; readonly numbers: Float64Array }

const of = (project: string, name: string) =>
  path`/api/projects/${project}/knowledge_bases/${name}/map`

/** @param isRetry whether to start a new map right away after a failure */
export function readMap(
  { project, name }: KnowledgeBaseName,
  isRetry: boolean,
  signal: AbortSignal,
) {
  return request<MapRecord>(`${of(project, name)}${isRetry ? '?retry=true' : ''}`, { signal })
}

export async function readPoints(at: MapAddress, signal: AbortSignal): Promise<MapPoints> {
  const query = new URLSearchParams({ version: at.version })
  const response = await requestStream(`${of(at.project, at.name)}/points?${query}`, { signal })
  const bytes = await bodyOf(response, () => response.arrayBuffer())
  const count = bytes.byteLength / 6
  return {
    count,
    x: new Uint16Array(bytes, 0, count),
    y: new Uint16Array(bytes, 2 * count, count),
    regions: new Uint16Array(bytes, 4 * count, count),
  }
}

export async function readValues(
  at: MapAddress,
  by: { readonly column: string } | { readonly query: string },
  signal?: AbortSignal,
): Promise<PointValues> {
  const query = new URLSearchParams({ ...by, version: at.version })
  const address = `${of(at.project, at.name)}/values?${query}`
  const { kind, values = [], codes, numbers } = await request<ValuesRecord>(address, { signal })
  if (kind === 'categories') return { kind, values, codes: new Uint32Array(bytesOf(codes)) }
  return { kind, numbers: new Float64Array(bytesOf(numbers)) }
}

function bytesOf(base64 = ''): ArrayBuffer {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)).buffer
}

export async function readChunks(
  at: MapAddress,
  points: readonly number[],
  signal?: AbortSignal,
): Promise<readonly MapChunk[]> {
  const query = new URLSearchParams({ points: points.join(','), version: at.version })
  const address = `${of(at.project, at.name)}/chunks?${query}`
  return (await request<Wire<typeof maps.MAP_CHUNKS>>(address, { signal })).items
}
