/** What was selected on the map: how many chunks, of which documents, and what can be done with them. */
import { type MapAddress, readValues } from '../../api/maps.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Loading } from '../../components/progress.tsx'
import { useResource } from '../../components/resource.ts'
import { counted } from '../../format/numbers.ts'
import { addressOf } from '../../shell/addresses.ts'

interface MapSelectionProps {
  readonly address: MapAddress
  readonly chosen: ReadonlySet<number>
  /** The text to which the map shows nearness. */
  readonly searched: string | undefined
  readonly onClear: () => void
}

const SHOWN_MAX = 100
/** Servers between a browser and this one refuse longer addresses. */
const ADDRESS_CHARS_MAX = 7000

export function MapSelection({ address, chosen, searched, onClear }: MapSelectionProps) {
  const { project, name } = address
  const { data, failure, reload } = useResource(
    (signal) => readValues(address, { column: 'id' }, signal),
    [address],
  )
  const documents = data?.kind === 'categories' ? documentsOf(data, chosen) : []
  const filter = JSON.stringify({ id: { in: documents } })
  const query = new URLSearchParams({ filters: filter })
  const isShort = query.toString().length <= ADDRESS_CHARS_MAX
  if (searched !== undefined) query.set('q', searched)
  return (
    <section class="panel stack" aria-label="Selection">
      <div class="row">
        <h2 class="grow">
          <span role="status">{counted(chosen.size, 'chunk')} selected</span>
        </h2>
        <button type="button" class="button small" onClick={onClear}>
          Clear
        </button>
      </div>
      {failure && <Failure error={failure} onRetry={reload} />}
      {!data && !failure && <Loading what="the documents" />}
      {data && (
        <>
          <p class="small quiet">of {counted(documents.length, 'document')}</p>
          <div class="row">
            {isShort && documents.length > 0 && (
              <>
                <a class="button small" href={`${addressOf.searchLab(project, name)}?${query}`}>
                  Search in them
                </a>
                <a
                  class="button small"
                  href={`${addressOf.knowledgeBase(project, name)}?${new URLSearchParams({ filters: filter })}`}
                >
                  Show in Documents
                </a>
              </>
            )}
            <CopyButton label="Copy as a filter" text={filter} />
          </div>
          {!isShort && (
            <p class="small quiet">
              Too many to open them by a link. The copied filter works in Search, under Edit as
              JSON.
            </p>
          )}
          <ul class="map-documents">
            {documents.slice(0, SHOWN_MAX).map((id) => (
              <li key={id} class="one-line">
                <a href={addressOf.document(project, name, id)} dir="auto">
                  {id}
                </a>
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

function documentsOf(
  {
    values,
    codes,
  }: { readonly values: readonly { readonly value: string }[]; readonly codes: Uint32Array },
  chosen: ReadonlySet<number>,
): readonly string[] {
  const found = new Set<string>()
  for (const point of chosen) {
    const document = values[(codes[point] ?? 0) - 1]
    if (document !== undefined) found.add(document.value)
  }
  return [...found]
}
