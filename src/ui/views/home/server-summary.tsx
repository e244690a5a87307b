/** How the server is: whether it is well, its memory and disk, and what its searches can use. */
import type { ServerStatus } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { Fact, Facts } from '../../components/facts.tsx'
import { Failure, Loading } from '../../components/failure.tsx'
import { shownBytes } from '../../components/numbers.ts'
import { usePolling, useResource } from '../../components/resource.ts'

const ASK_AGAIN_MS = 10_000

export function ServerSummary() {
  const { data, failure, reload } = useResource(
    (signal) => request<ServerStatus>('/api/status', { signal }),
    [],
  )
  usePolling(reload, ASK_AGAIN_MS)
  return (
    <section class="panel stack" aria-labelledby="home-server">
      <div class="row">
        <h2 id="home-server" class="grow">
          Server
        </h2>
        <a class="small" href="/operations">
          Operations
        </a>
      </div>
      {failure && data === undefined && <Failure error={failure} onRetry={reload} />}
      {data === undefined && failure === undefined && <Loading what="its state" />}
      {data && <State status={data} />}
    </section>
  )
}

function State({ status }: { readonly status: ServerStatus }) {
  const { disk, memory, statements, indexes, eider_version: version } = status
  return (
    <Facts>
      <Fact name="Health">
        <Health status={status} />
      </Fact>
      <Fact name="Version">{version}</Fact>
      {memory && <Fact name="Memory">{shownBytes(memory.rss)}</Fact>}
      {disk && (
        <Fact name="Data on disk">
          {shownBytes((disk.data ?? 0) + (disk.log ?? 0) + (disk.files ?? 0))},{' '}
          {shownBytes(disk.free ?? 0)} free
        </Fact>
      )}
      {statements && (
        <Fact name="Statements">
          {statements.running} running, {statements.waiting} waiting
        </Fact>
      )}
      <Fact name="Vector indexes">
        {Object.entries(indexes)
          .filter(([, { possible }]) => possible)
          .map(([name]) => INDEX_NAMES[name] ?? name)
          .join(', ')}
      </Fact>
    </Facts>
  )
}

/** What is amiss, worst first; what to do about it stands in the operations. */
function Health({ status: { disk, backups } }: { readonly status: ServerStatus }) {
  const failedBackup = backups?.failed
  if (disk?.full) return <span class="badge bad">The disk is full: nothing can be stored</span>
  if (failedBackup) {
    return (
      <a class="badge bad" href="/operations">
        The last backup failed
      </a>
    )
  }
  return <span class="badge good">Healthy</span>
}

const INDEX_NAMES: Readonly<Record<string, string>> = { exact: 'exact', ivf: 'IVF', hnsw: 'HNSW' }
