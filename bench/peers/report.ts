/** Prints the results of a run, as rows of text and as JSON. */
import type { TaskResult } from './rounds.ts'
import { BUCKETS, K, type Keep } from './vector-set.ts'

export interface Loading {
  readonly name: string
  readonly versions: string
  /** The time until the set is inserted and all indexes are built. */
  readonly loadSeconds: number
  /** The memory in addition to what the process had before. */
  readonly memoryMb: number
  readonly diskMb: number
}

export interface PeerRow extends Loading {
  /** The name with its setting. */
  readonly label: string
  readonly reach: string
  readonly p50Ms: number
  readonly p99Ms: number
  readonly perSecond: number
  readonly recall: number
  readonly searches: number
  readonly filtered: readonly FilteredCell[]
}

export interface FilteredCell {
  readonly keep: Keep
  readonly p50Ms: number
  readonly recall: number
  readonly rowsMin: number
}

export function peerRows(
  results: readonly TaskResult[],
  loadings: readonly Loading[],
): readonly PeerRow[] {
  const alone = results.filter(({ clients, keep }) => clients === 1 && keep === BUCKETS)
  return alone.flatMap((one) => {
    const { loaded, setting } = one
    const same = results.filter((other) => other.loaded === loaded && other.setting === setting)
    const crowd = same.find(({ clients }) => clients > 1)
    const loading = loadings.find(({ name }) => name === loaded.peer.name)
    if (loading === undefined) return []
    const filtered = same.filter(({ clients, keep }) => clients === 1 && keep !== BUCKETS)
    const { p50Ms, p99Ms, recall, searches } = one
    const row: PeerRow = {
      ...loading,
      label: [loaded.peer.label, setting.label].filter(Boolean).join(', '),
      reach: loaded.peer.reach,
      ...{ p50Ms, p99Ms, recall, searches },
      perSecond: crowd?.perSecond ?? Number.NaN,
      filtered: filtered.map(({ keep, p50Ms, recall, rowsMin }) => {
        return { keep, p50Ms, recall, rowsMin }
      }),
    }
    return [row]
  })
}

const HEADINGS: readonly string[] = [
  '',
  'reached',
  'loaded and built',
  'memory',
  'disk',
  'p50 / p99, one client',
  'searches/s, 8 clients',
  'recall@10',
  '10 % kept',
  '1 %',
  '0.1 %',
]

/** Returns a table in Markdown. */
export function markdownTable(rows: readonly PeerRow[]): string {
  const lines = rows.map((row) => [
    row.label,
    row.reach,
    `${digits(row.loadSeconds)} s`,
    `${digits(row.memoryMb)} MB`,
    `${digits(row.diskMb)} MB`,
    `${digits(row.p50Ms)} / ${digits(row.p99Ms)} ms`,
    digits(row.perSecond),
    row.recall.toFixed(3),
    ...([100, 10, 1] as const).map((keep) => filteredText(row, keep)),
  ])
  const table = [HEADINGS, HEADINGS.map(() => '---'), ...lines]
  return table.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Returns the p50, with the recall if it is below 1, and the fewest rows if those are too few. */
function filteredText({ filtered }: PeerRow, keep: Keep): string {
  const cell = filtered.find((one) => one.keep === keep)
  if (cell === undefined) return '–'
  const recall = cell.recall > 0.9995 ? '' : `, ${cell.recall.toFixed(3)}`
  const rows = cell.rowsMin < K ? `, ${cell.rowsMin} rows` : ''
  return `${digits(cell.p50Ms)} ms${recall}${rows}`
}

/** Returns two significant digits. */
function digits(value: number): string {
  if (!Number.isFinite(value)) return '–'
  return value >= 10 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(2)))
}
