/** The metadata of a chunk; a click on a value filters by it. */

/** What chunking writes. */
const OWN = new Set([
  'chunk_index',
  'content_column',
  'start_char',
  'end_char',
  'original_doc_id',
  'original_row_index',
  'source',
])
const SHOWN_MAX = 6
const WHOLE_MAX = 100
const CHARS_MAX = 60

interface HitValue {
  readonly name: string
  readonly value: unknown
  /** One of a list. */
  readonly isItem: boolean
}

/** What can be filtered by; those without a value come last. */
export function valuesOf(metadata: Readonly<Record<string, unknown>>): readonly HitValue[] {
  const values = Object.entries(metadata)
    .filter(([name]) => !OWN.has(name))
    .flatMap(([name, value]): HitValue[] => {
      if (!Array.isArray(value)) return [{ name, value, isItem: false }]
      return [...new Set(value)].map((item: unknown) => ({ name, value: item, isItem: true }))
    })
    .filter(({ value }) => value !== '' && (typeof value !== 'object' || value === null))
  return values.toSorted((a, b) => Number(a.value === null) - Number(b.value === null))
}

/** Whether a hit has more values than are shown of it at first. */
export function hasMoreValues(metadata: Readonly<Record<string, unknown>>): boolean {
  return valuesOf(metadata).length > SHOWN_MAX
}

interface HitValuesProps {
  readonly metadata: Readonly<Record<string, unknown>>
  readonly isWhole: boolean
  readonly onFilter: (column: string, value: unknown, isItem: boolean) => void
}

export function HitValues({ metadata, isWhole, onFilter }: HitValuesProps) {
  const values = valuesOf(metadata).slice(0, isWhole ? WHOLE_MAX : SHOWN_MAX)
  if (values.length === 0) return null
  return (
    <ul class="search-values">
      {values.map(({ name, value, isItem }) => (
        <li key={`${name} ${value}`}>
          <button
            type="button"
            class="search-chip"
            title="Show only chunks with this value"
            onClick={() => onFilter(name, value, isItem)}
          >
            <span class="quiet">{name}</span> <bdi>{String(value).slice(0, CHARS_MAX)}</bdi>
          </button>
        </li>
      ))}
    </ul>
  )
}
