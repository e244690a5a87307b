/** The pages or slides of a chunk, so that a quote in it can name its own. */
export interface ChunkPages {
  /** That of the chunk's first character. */
  readonly first: number
  /** Where each further one begins, in code units into the chunk's content, rising. */
  readonly starts: readonly number[]
}

/** What has a number that a citation shows as its page. */
const NUMBERED = ['page', 'slide'] as const

/** Reads them from the metadata of a chunk; null if it has none. Values may be text. */
export function pagesIn(cell: (name: string) => unknown): ChunkPages | null {
  for (const unit of NUMBERED) {
    const first = numberIn(cell(unit))
    if (first !== null) return { first, starts: startsIn(cell(startsName(unit))) }
  }
  return null
}

/** The name under which `ChunkPages.starts` is stored. */
export function startsName(unit: string): string {
  return `${unit}_starts`
}

/** The page of the character at this offset of the chunk. */
export function pageAt({ first, starts }: ChunkPages, at: number): number {
  return first + starts.filter((start) => start <= at).length
}

function numberIn(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) ? number : null
}

function startsIn(value: unknown): readonly number[] {
  const list = typeof value === 'string' ? (value.match(/\d+/g) ?? []).map(Number) : value
  return Array.isArray(list) ? list.filter((start) => typeof start === 'number') : []
}
