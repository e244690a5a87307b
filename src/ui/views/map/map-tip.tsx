/** What the point says that is pointed at: its document, and how its text begins. */
import { type MapAddress, readChunks } from '../../api/maps.ts'
import { useResource } from '../../components/resource.ts'
import type { Viewport } from './viewport.ts'

interface MapTipProps {
  readonly address: MapAddress
  readonly point: number
  /** Of what colours the points. */
  readonly value: string
  readonly view: Viewport
  /** Where the point is seen. */
  readonly at: readonly [number, number]
}

const TEXT_CHARS = 280
/** A pointer that crosses points does not read them. */
const REST_MS = 80

export function MapTip({ address, point, value, view, at }: MapTipProps) {
  const { data, failure } = useResource(
    async (signal) => {
      await new Promise((resolve) => setTimeout(resolve, REST_MS))
      signal.throwIfAborted()
      return (await readChunks(address, [point], signal))[0]?.chunk ?? null
    },
    [address, point],
  )
  return (
    <div class="map-tip" role="status" style={placeBeside(view, at)}>
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
          {value !== '' && (
            <span class="quiet one-line" dir="auto">
              {value}
            </span>
          )}
        </>
      )}
    </div>
  )
}

const WIDTH_PIXELS = 320
const GAP_PIXELS = 14
const EDGE_PIXELS = 6

/** Below a point of the upper half, above one of the lower half, and never over an edge. */
function placeBeside({ width, height }: Viewport, [x, y]: readonly [number, number]) {
  const wide = Math.min(WIDTH_PIXELS, width - 2 * EDGE_PIXELS)
  const left = Math.min(width - wide - EDGE_PIXELS, Math.max(EDGE_PIXELS, x - wide / 2))
  const side =
    y < height / 2 ? { top: `${y + GAP_PIXELS}px` } : { bottom: `${height - y + GAP_PIXELS}px` }
  return { left: `${left}px`, width: `${wide}px`, ...side }
}

function titleOf(metadata: Readonly<Record<string, unknown>>): string | undefined {
  const { title } = metadata
  return typeof title === 'string' && title !== '' ? title : undefined
}
