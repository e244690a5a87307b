/**
 * Measures how faithful a map is, with the page's sample of 240 paragraphs from 48 articles and the
 * built-in model, compared to the first two principal components of the vectors.
 */
import { join } from 'node:path'
import { BuiltinEmbedder } from '../src/models/builtin/builtin-embedder.ts'
import { layOut } from '../src/retrieval/map/layout/lay-out.ts'
import {
  principalComponents,
  projectRows,
  SeededRandom,
  type VectorTable,
} from '../src/retrieval/map/layout/principal-components.ts'
import type { Measure } from './scenario.ts'

const SAMPLE = join(import.meta.dir, '../assets/sample/encyclopedia.json')
const SEED = 1
const COMPONENTS = 64
/** How many neighbours to compare. An article has five paragraphs. */
const K = 4

export async function mapQuality(): Promise<readonly Measure[]> {
  // The file is in this repository.
  const { rows } = (await Bun.file(SAMPLE).json()) as {
    readonly rows: readonly { readonly article: string; readonly content: string }[]
  }
  const topics = rows.map(({ article }) => article)
  const vectors = await embedded(rows.map(({ content }) => content))
  const random = new SeededRandom(SEED)
  const components = principalComponents(vectors, COMPONENTS, random)
  const values = new Float32Array(rows.length * COMPONENTS)
  projectRows(vectors, components, values)
  const places = layOut({ values, dimensions: COMPONENTS }, { seed: SEED })
  const flat = Float32Array.from({ length: rows.length * 2 }, (_, at) => {
    return values[(at >> 1) * COMPONENTS + (at & 1)] ?? 0
  })
  const [near, map, pca] = [
    vectors,
    { values: places, dimensions: 2 },
    { values: flat, dimensions: 2 },
  ].map(neighboursOf)
  if (near === undefined || map === undefined || pca === undefined) return []
  const measure = (what: string, value: number) => ({
    what: `240 paragraphs, ${what}`,
    value,
    unit: '',
  })
  return [
    measure(`of the ${K} nearest of the same article, by the vectors`, purity(near, topics)),
    measure('the same on the map', purity(map, topics)),
    measure('the same by two principal components', purity(pca, topics)),
    measure('trustworthiness of the map', trustworthiness(near, map)),
    measure('the same of two principal components', trustworthiness(near, pca)),
  ]
}

async function embedded(texts: readonly string[]): Promise<VectorTable> {
  const embedder = new BuiltinEmbedder()
  try {
    const vectors = await embedder.embed(texts, AbortSignal.timeout(300_000))
    const dimensions = vectors[0]?.length ?? 0
    const values = new Float32Array(vectors.length * dimensions)
    for (const [row, vector] of vectors.entries()) values.set(vector, row * dimensions)
    return { values, dimensions }
  } finally {
    await embedder.close()
  }
}

/** For each point, all others with the nearest first. */
type Neighbours = readonly (readonly number[])[]

function neighboursOf({ values, dimensions }: VectorTable): Neighbours {
  const count = values.length / dimensions
  const rows = Array.from({ length: count }, (_, row) => {
    return values.subarray(row * dimensions, (row + 1) * dimensions)
  })
  return rows.map((own, point) => {
    const squared = rows.map((other) => {
      return other.reduce((sum, value, at) => sum + (value - (own[at] ?? 0)) ** 2, 0)
    })
    const others = [...rows.keys()].filter((other) => other !== point)
    return others.sort((a, b) => (squared[a] ?? 0) - (squared[b] ?? 0))
  })
}

function purity(neighbours: Neighbours, topics: readonly string[]): number {
  const shares = neighbours.map((near, point) => {
    return near.slice(0, K).filter((other) => topics[other] === topics[point]).length / K
  })
  return shares.reduce((sum, share) => sum + share, 0) / shares.length
}

/**
 * Trustworthiness (Venna and Kaski, 2001): 1 if all points that are near on the map also have near
 * vectors.
 */
function trustworthiness(near: Neighbours, shown: Neighbours): number {
  const count = near.length
  let penalty = 0
  for (const [point, neighbours] of shown.entries()) {
    const ranks = new Map(near[point]?.map((other, at) => [other, at + 1]))
    for (const other of neighbours.slice(0, K)) {
      penalty += Math.max(0, (ranks.get(other) ?? count) - K)
    }
  }
  return 1 - (2 * penalty) / (count * K * (2 * count - 3 * K - 1))
}
