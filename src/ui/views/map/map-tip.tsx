/** What the point says that is pointed at: its document, and how its text begins. */
import { type MapAddress, readChunks } from '../../api/maps.ts'
import { useResource } from '../../components/resource.ts'

interface MapTipProps {
  readonly address: MapAddress
  readonly point: number
  readonly x: number
  readonly y: number
}

const TEXT_CHARS = 280

export function MapTip({ address, point, x, y }: MapTipProps) {
  const { data, failure } = useResource(
    async (signal) => (await readChunks(address, [point], signal))[0]?.chunk ?? null,
    [address, point],
  )
  return (
    <div class="map-tip" role="status" style={{ insetInlineStart: `${x}px`, top: `${y}px` }}>
      {data === undefined && !failure && <span class="quiet">…</span>}
      {failure && <span class="bad">{failure.message}</span>}
      {data === null && <span class="quiet">This chunk was deleted since the map was made.</span>}
      {data && (
        <>
          <strong class="one-line" dir="auto">
            {titleOf(data.metadata) ?? data.id}
          </strong>
          <span class="map-tip-text" dir="auto">
            {data.chunk_content.slice(0, TEXT_CHARS)}
          </span>
        </>
      )}
    </div>
  )
}

function titleOf(metadata: Readonly<Record<string, unknown>>): string | undefined {
  const { title } = metadata
  return typeof title === 'string' && title !== '' ? title : undefined
}
