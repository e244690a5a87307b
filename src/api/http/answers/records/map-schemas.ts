/** The map of a knowledge base as answers show it. */
import { t } from 'elysia'
import { MAP_STAGES } from '../../../../core/domain/ports/search-ports.ts'
import { COUNT, FIELDS, named, oneOf, orNull } from '../../request/schema-words.ts'

const REGION = t.Object({
  level: t.Integer({
    description: '0: for a view from far away; further levels have smaller ones',
  }),
  parent: orNull(t.Integer({ description: 'Index of the region that it is a part of' })),
  x: t.Integer(),
  y: t.Integer(),
  point_count: COUNT,
  words: t.Array(t.String(), { description: 'What tells it from the others, the best first' }),
})

export const MAP = named('Map', 'Chunks as points; coordinates go from 0 to 65535', {
  state: oneOf(['empty', 'computing', 'ready', 'failed']),
  progress: orNull(
    t.Object({
      stage: oneOf(MAP_STAGES),
      share: t.Number({ description: 'Of the whole way, 0 to 1' }),
    }),
    { description: 'Of the map that is being computed, though an older one may be there' },
  ),
  error: orNull(t.String(), { description: 'Why the last one could not be computed' }),
  reembedding: t.Boolean({
    description: 'Another embedding model is going to take over: the map is of the former vectors',
  }),
  map: orNull(
    t.Object({
      version: t.String({ description: 'Sent along with questions about its points' }),
      current: t.Boolean({ description: 'false: something was stored or deleted since' }),
      revision: t.Integer(),
      embedding_model: t.String(),
      point_count: COUNT,
      chunk_count: COUNT,
      seconds: t.Number({ description: 'What it took' }),
      regions: t.Array(REGION),
    }),
  ),
})

export const MAP_VALUES = named('MapValues', {
  version: t.String(),
  kind: oneOf(['categories', 'numbers', 'times'], {
    description: '`times`: milliseconds since 1970, also of texts that are all dates',
  }),
  values: t.Optional(
    t.Array(t.Object({ value: t.String(), count: COUNT }), {
      description: 'Of `categories`, the commonest first',
    }),
  ),
  codes: t.Optional(
    t.String({
      description:
        'Of `categories`: for each point the index in `values` plus 1, or 0 for none, as little-endian integers of 32 bits in base64',
    }),
  ),
  numbers: t.Optional(
    t.String({
      description:
        'Of `numbers` and `times`: one for each point, NaN for none, as little-endian doubles in base64',
    }),
  ),
})

export const MAP_CHUNKS = named('MapChunks', {
  items: t.Array(
    t.Object({
      point: COUNT,
      chunk: orNull(
        t.Object({
          id: t.String(),
          chunk_id: t.String(),
          chunk_content: t.String(),
          metadata: FIELDS,
        }),
        { description: 'null: it was deleted since the map was made' },
      ),
    }),
  ),
})
