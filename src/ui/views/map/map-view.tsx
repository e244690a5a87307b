/** The chunks of a knowledge base as points; chunks of similar meaning are close together. */
import { useRef } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { type MapRecord, readMap } from '../../api/maps.ts'
import { EmptyState, Failure, Loading, Progress } from '../../components/failure.tsx'
import { counted } from '../../components/numbers.ts'
import { usePolling, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { KnowledgeBaseFrame } from '../knowledge-base/knowledge-base-frame.tsx'
import { MapBoard } from './map-board.tsx'

export function MapView({ project, name }: KnowledgeBaseName) {
  const isRetryWanted = useRef(false)
  const { data, failure, isLoading, reload } = useResource(
    (signal) => {
      const isRetry = isRetryWanted.current
      isRetryWanted.current = false
      return readMap({ project, name }, isRetry, signal)
    },
    [project, name],
  )
  const retry = () => {
    isRetryWanted.current = true
    reload()
  }
  const isAwaited = data?.state === 'computing' || data?.progress != null
  usePolling(
    () => {
      // A failed map is retried only on request.
      if (!isLoading && data?.state !== 'failed') reload()
    },
    isAwaited ? 'soon' : 'often',
  )
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      {failure && <Failure error={failure} onRetry={reload} />}
      {!data && !failure && <Loading what="the map" />}
      {data && <MapState data={data} project={project} name={name} onRetry={retry} />}
      {data?.state === 'ready' && data.map && (
        <MapBoard
          // A newer map replaces only the points; input and drawings stay.
          key={addressOf.knowledgeBase(project, name)}
          project={project}
          name={name}
          map={data.map}
          note={noteOf(data)}
          onStale={reload}
        />
      )}
    </KnowledgeBaseFrame>
  )
}

const STAGES = {
  waiting: 'Waiting to start',
  reading: 'Reading the vectors',
  neighbours: "Finding each chunk's neighbours",
  layout: 'Arranging the chunks',
  labels: 'Naming the regions',
} as const

function MapState(
  props: KnowledgeBaseName & { readonly data: MapRecord; readonly onRetry: () => void },
) {
  const { data, project, name, onRetry } = props
  if (data.state === 'empty') {
    return (
      <EmptyState icon="map" title="There is nothing to map yet">
        <p class="quiet">A map arranges chunks by meaning. Add documents first.</p>
        <a class="button primary" href={addressOf.addDocuments(project, name)}>
          Add documents
        </a>
      </EmptyState>
    )
  }
  if (data.state === 'failed') {
    return (
      <Failure title="No map" error={new Error(data.error ?? 'The map failed')} onRetry={onRetry} />
    )
  }
  if (data.state === 'computing') {
    const { stage = 'waiting', share = 0 } = data.progress ?? {}
    return (
      <div class="panel stack" role="status">
        <strong>The map is being created</strong>
        <Progress label={STAGES[stage]} done={share} total={1} />
        <p class="small quiet">
          This takes seconds, or half a minute for 100,000 chunks. You can leave this view in the
          meantime.
        </p>
      </div>
    )
  }
  if (hasFailed(data))
    return <Failure title="No newer map" error={new Error(data.error ?? '')} onRetry={onRetry} />
  return null
}

/** Whether an older map is shown because computing the newer one failed. */
function hasFailed({ map, progress, error }: MapRecord): boolean {
  return map?.current === false && progress === null && error !== null
}

function noteOf(data: MapRecord): string | null {
  const { map, reembedding, progress } = data
  if (map === null) return null
  if (reembedding) {
    return 'The embedding model is being changed. Until that is done, this map shows the old vectors.'
  }
  if (!map.current) {
    const changed = 'Documents have changed since this map was created.'
    if (hasFailed(data)) return changed
    return `${changed} A new map ${progress === null ? 'will follow soon' : 'is being created'}.`
  }
  if (map.point_count < map.chunk_count) {
    return `${counted(map.point_count, 'chunk')} of ${counted(map.chunk_count, 'chunk')} are shown, as a sample.`
  }
  return null
}
