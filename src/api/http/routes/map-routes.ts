import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import type { ChunkMap, MapState } from '../../../core/domain/ports/search-ports.ts'
import { AppError } from '../../../core/errors.ts'
import type { MapValues } from '../../../query/documents/map-points.ts'
import { MAP, MAP_CHUNKS, MAP_VALUES } from '../answers/records/knowledge-base-schemas.ts'
import { base64Of } from '../answers/wire.ts'
import {
  parsedText,
  queryParameters,
  text,
  truth,
  wrongParameter,
} from '../bodies/query-parameters.ts'
import type { MapUses } from '../request/route-context.ts'
import { knowledgeBaseAt, resource } from './operation.ts'

const MAP_PATH = '/api/projects/:project_name/knowledge_bases/:knowledge_base_name/map' as const

const POINTS_MAX = 1000
const QUERY_CHARS_MAX = 10_000

const version = text({
  description: 'The map’s `version`. If the map has changed, you get 409',
})
const VERSION = queryParameters({ version })
const ASKING = queryParameters({
  retry: truth({
    description: 'Retries a failed map now, without waiting for the back-off delay',
  }),
})
const VALUES = queryParameters({
  version,
  column: text({
    description: 'A metadata column, or `id` for the documents',
    examples: ['price'],
  }),
  query: text({
    description: 'Text, instead of `column`: returns each chunk’s similarity to it',
    charsMax: QUERY_CHARS_MAX,
  }),
})
const POINTS = queryParameters({
  version,
  points: parsedText(
    { description: `Up to ${POINTS_MAX} points, counted from 0`, examples: ['0,17,4'] },
    (sent, name) => {
      const points = sent.split(',')
      const isList = points.every((point) => /^\d{1,9}$/.test(point))
      if (isList && points.length <= POINTS_MAX) return points.map(Number)
      throw wrongParameter(name, `must be up to ${POINTS_MAX} integers, such as 0,17,4`)
    },
  ),
})

const NO_MAP = { 409: 'The map is missing, or differs from `version`' }

export const mapOperations = resource('Knowledge bases', (api, context) => {
  const { maps } = context.deps
  api.get(MAP_PATH, {
    id: 'getMap',
    summary: 'Get the map of a knowledge base: its state and regions',
    description:
      'Answers immediately. If there is no current map, the server computes one in the background; poll until `state` is `ready`.',
    query: ASKING,
    find: knowledgeBaseAt,
    answers: { 200: ['The map', MAP] },
    async run({ query: { retry: isRetry }, found: kb }) {
      return stateRecord(kb, await maps.stateOf(kb, { isRetry }))
    },
  })
  api.get(`${MAP_PATH}/points`, {
    id: 'getMapPoints',
    summary: 'Get a map’s points as bytes',
    description:
      '16-bit little-endian integers, six bytes per point: the x of all points, the y of all points, then each point’s region index.',
    query: VERSION,
    headers: {
      'If-None-Match': 'The ETag of an earlier answer; you get 304 if the points are unchanged',
    },
    produces: 'application/octet-stream',
    find: knowledgeBaseAt,
    answers: { 200: 'The points', 304: 'Not modified', ...NO_MAP },
    async run({ request, query: { version: wanted }, found: kb }) {
      const { map } = await mapAt(maps, kb, wanted)
      const etag = `"${map.version}"`
      const headers = { etag, 'cache-control': 'private, no-cache' }
      if (request.headers.get('if-none-match') === etag) {
        return new Response(null, { status: 304, headers })
      }
      const bytes = Buffer.concat(
        [map.x, map.y, map.regionOf].map(({ buffer, byteOffset, byteLength }) => {
          return new Uint8Array(buffer, byteOffset, byteLength)
        }),
      )
      return new Response(bytes, {
        headers: { ...headers, 'content-type': 'application/octet-stream' },
      })
    },
  })
  api.get(`${MAP_PATH}/values`, {
    id: 'getMapValues',
    summary: 'Get a value for each point of a map, to colour it',
    query: VALUES,
    find: knowledgeBaseAt,
    answers: { 200: ['The values', MAP_VALUES], ...NO_MAP },
    async run({ query: sent, signal, found: kb }) {
      const of = valuesOf(sent)
      const at = await mapAt(maps, kb, sent.version)
      return valuesRecord(await maps.values(at, of, signal), at.map)
    },
  })
  api.get(`${MAP_PATH}/chunks`, {
    id: 'getMapChunks',
    summary: 'Get the chunks of some points of a map',
    query: POINTS,
    find: knowledgeBaseAt,
    answers: { 200: ['The chunks', MAP_CHUNKS], ...NO_MAP },
    async run({ query: { version: wanted, points }, found: kb }) {
      if (points === undefined) throw wrongParameter('points', 'is missing')
      const chunks = await maps.chunks(await mapAt(maps, kb, wanted), points)
      const items = chunks.map((chunk, at) => ({
        point: points[at] ?? 0,
        chunk: chunk && {
          id: chunk.documentId,
          chunk_id: chunk.chunkId,
          chunk_content: chunk.content,
          metadata: chunk.metadata,
        },
      }))
      return { items }
    },
  })
})

function valuesOf({ column, query }: { column?: string | undefined; query?: string | undefined }) {
  if ((column === undefined) === (query === undefined)) {
    throw new AppError('invalid_request', 'One of the parameters "column" and "query" is required')
  }
  return column === undefined
    ? { kind: 'query' as const, query: query ?? '' }
    : { kind: 'column' as const, column }
}

/** @throws AppError `map_not_ready` */
async function mapAt(
  maps: Pick<MapUses, 'stateOf'>,
  kb: KnowledgeBase,
  wanted: string | undefined,
): Promise<{ readonly kb: KnowledgeBase; readonly map: ChunkMap }> {
  const { map } = await maps.stateOf(kb)
  if (map === null) {
    throw new AppError('map_not_ready', `The map of ${kb.name} is being computed: get its state`)
  }
  if (wanted !== undefined && wanted !== map.version) {
    throw new AppError('map_not_ready', `The map of ${kb.name} has changed: load it again`)
  }
  return { kb, map }
}

function stateRecord(kb: KnowledgeBase, { map, isCurrent, progress, failure }: MapState) {
  return {
    state: stateOf(kb, { map, isCurrent, progress, failure }),
    progress,
    error: failure,
    reembedding: kb.nextEmbeddingModel !== null,
    map: map && {
      version: map.version,
      current: isCurrent,
      revision: map.revision,
      embedding_model: kb.embeddingModel.modelName,
      point_count: map.keys.length,
      chunk_count: map.chunkCount,
      seconds: map.seconds,
      regions: map.regions.map(({ pointCount, ...region }) => ({
        ...region,
        words: [...region.words],
        point_count: pointCount,
      })),
    },
  }
}

function stateOf(kb: KnowledgeBase, { map, isCurrent, progress, failure }: MapState) {
  if (map !== null && map.keys.length > 0) return 'ready'
  const neverHadAny = kb.dimensions === null || kb.revision === 0
  if (neverHadAny || (map !== null && isCurrent)) return 'empty'
  // A failed map may already be retried.
  return failure === null || progress !== null ? 'computing' : 'failed'
}

function valuesRecord(values: MapValues, map: ChunkMap) {
  const { kind } = values
  const { version } = map
  if (kind !== 'categories') return { version, kind, numbers: base64Of(values.numbers) }
  return { version, kind, values: values.values, codes: base64Of(values.codes) }
}
