/** Finds the nearest rows of each query with the simplest computation: every dot product, in float64. */
export interface Measured {
  /** Unit vectors, one after the other. */
  readonly rows: Float32Array
  readonly queries: readonly Float32Array[]
  readonly k: number
}

/** The row indexes for each query, nearest first, or fewer than k if the filter leaves fewer. */
export type NearestTable = readonly (readonly number[])[]

interface Candidate {
  readonly row: number
  readonly similarity: number
}

/** Returns one table for each filter. */
export function nearestTables(
  { rows, queries, k }: Measured,
  filters: readonly ((row: number) => boolean)[],
): readonly NearestTable[] {
  const found = filters.map(() => queries.map((): Candidate[] => []))
  const dimensions = queries[0]?.length ?? 1
  for (let row = 0; row < rows.length / dimensions; row += 1) {
    const vector = rows.subarray(row * dimensions, (row + 1) * dimensions)
    const open = found.filter((_, filter) => filters[filter]?.(row))
    for (const [index, query] of queries.entries()) {
      const similarity = dot(vector, query)
      for (const table of open) {
        const nearest = table[index]
        if (nearest !== undefined && isNear(nearest, similarity, k)) {
          keep(nearest, { row, similarity }, k)
        }
      }
    }
  }
  return found.map((table) => table.map((nearest) => nearest.map(({ row }) => row)))
}

/** Four separate sums, because each addition to a single one would wait for the previous one. */
function dot(one: Float32Array, other: Float32Array): number {
  let [a, b, c, d] = [0, 0, 0, 0]
  for (let at = 0; at < one.length; at += 4) {
    a += (one[at] ?? 0) * (other[at] ?? 0)
    b += (one[at + 1] ?? 0) * (other[at + 1] ?? 0)
    c += (one[at + 2] ?? 0) * (other[at + 2] ?? 0)
    d += (one[at + 3] ?? 0) * (other[at + 3] ?? 0)
  }
  return a + b + c + d
}

function isNear(nearest: readonly Candidate[], similarity: number, k: number): boolean {
  const last = nearest[k - 1]
  return last === undefined || last.similarity < similarity
}

/** Keeps the k most similar, with the most similar first and earlier rows first among equals. */
function keep(nearest: Candidate[], candidate: Candidate, k: number): void {
  let place = nearest.length
  while (place > 0 && (nearest[place - 1]?.similarity ?? 1) < candidate.similarity) place -= 1
  nearest.splice(place, 0, candidate)
  if (nearest.length > k) nearest.pop()
}
