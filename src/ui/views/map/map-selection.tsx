/** The selection on the map: its number of chunks and documents, and its actions. */
import { useMemo } from 'preact/hooks'
import { type MapAddress, type PointValues, readValues } from '../../api/maps.ts'
import { Button, CopyButton } from '../../components/button.tsx'
import { Failure, Loading } from '../../components/failure.tsx'
import { knownOf } from '../../components/known-name.ts'
import { counted } from '../../components/numbers.ts'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'

const SHOWN_MAX = 100
/** Proxies refuse longer URLs. */
const ADDRESS_CHARS_MAX = 7000

export function MapSelection(props: {
  readonly address: MapAddress
  readonly chosen: ReadonlySet<number>
  /** The text that the map is coloured by, used as the query within the selection. */
  readonly searched: string
  readonly onClear: () => void
}) {
  const { address, chosen, searched, onClear } = props
  const { project, name } = address
  const hasTitles = knownOf('knowledgeBases', address)?.metadata_types.title === 'VARCHAR'
  const { data, failure, reload } = useResource(
    async (signal) => {
      const ids = readValues(address, { column: 'id' }, signal)
      const titles = hasTitles ? readValues(address, { column: 'title' }, signal) : null
      return { ids: await ids, titles: await titles }
    },
    [address, hasTitles],
  )
  const documents = useMemo(() => (data ? documentsOf(data, chosen) : []), [data, chosen])
  const filter = JSON.stringify({ id: { in: documents.map(({ id }) => id) } })
  const isShort = encodeURIComponent(filter).length <= ADDRESS_CHARS_MAX
  const query = String(new URLSearchParams({ ...(searched && { q: searched }), filters: filter }))
  const search = `${isShort ? '?' : '#'}${query}`
  return (
    <section class="panel stack" aria-label="Selection">
      <div class="row">
        <h2 class="grow">
          <span role="status">{counted(chosen.size, 'chunk')} selected</span>
        </h2>
        <Button look="small" label="Clear" onClick={onClear} />
      </div>
      {failure && <Failure error={failure} onRetry={reload} />}
      {!data && !failure && <Loading what="the documents" />}
      {data && (
        <>
          <p class="small quiet">of {counted(documents.length, 'document')}</p>
          <div class="row">
            {documents.length > 0 && (
              <a class="button small" href={`${addressOf.searchLab(project, name)}${search}`}>
                Search in them
              </a>
            )}
            {isShort && documents.length > 0 && (
              <a
                class="button small"
                href={`${addressOf.knowledgeBase(project, name)}?${new URLSearchParams({ filters: filter })}`}
              >
                Show in Documents
              </a>
            )}
            <CopyButton label="Copy as a filter" text={filter} />
          </div>
          <ul class="map-documents">
            {documents.slice(0, SHOWN_MAX).map(({ id, title, count }) => (
              <li key={id}>
                <a class="one-line" href={addressOf.document(project, name, id)} dir="auto">
                  {title ?? id}
                </a>
                <span class="quiet small">{count}</span>
              </li>
            ))}
          </ul>
          {documents.length > SHOWN_MAX && (
            <p class="small quiet">and {counted(documents.length - SHOWN_MAX, 'more', 'more')}</p>
          )}
        </>
      )}
    </section>
  )
}

interface ChosenDocument {
  readonly id: string
  readonly title: string | undefined
  /** How many of the document's chunks are selected. */
  readonly count: number
}

/** The documents with the most selected chunks first. */
function documentsOf(
  { ids, titles }: { readonly ids: PointValues; readonly titles: PointValues | null },
  chosen: ReadonlySet<number>,
): readonly ChosenDocument[] {
  const found = new Map<string, ChosenDocument>()
  for (const point of chosen) {
    const id = valueAt(ids, point)
    if (id === undefined) continue
    const title = found.get(id)?.title ?? (titles === null ? undefined : valueAt(titles, point))
    found.set(id, { id, title, count: 1 + (found.get(id)?.count ?? 0) })
  }
  return [...found.values()].sort((a, b) => b.count - a.count)
}

/** Returns undefined for a missing or empty value. */
function valueAt(values: PointValues, point: number): string | undefined {
  if (values.kind !== 'categories') return undefined
  return values.values[(values.codes[point] ?? 0) - 1]?.value || undefined
}
