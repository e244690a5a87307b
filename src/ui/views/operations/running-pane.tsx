/** Requests under way with their statements: each can be ended. */
import type { RunningRequest } from '../../api/records.ts'
import { ApiError, path, request } from '../../api/request.ts'
import { mayRunServer } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { shownDuration } from '../../format/numbers.ts'
import { tellDone, tellFailed } from '../../shell/notices.tsx'

const ASK_AGAIN_MS = 1000

export function RunningPane() {
  const running = useResource(
    (signal) => request<readonly RunningRequest[]>('/api/requests/running', { signal }),
    [],
  )
  usePolling(running.reload, ASK_AGAIN_MS)
  const cancel = async (number: number) => {
    try {
      await request(path`/api/requests/${String(number)}`, { method: 'DELETE' })
      tellDone('Cancelled')
    } catch (error) {
      const isOver = error instanceof ApiError && error.code === 'request_not_found'
      if (isOver) tellDone('It was over already')
      else tellFailed(error)
    }
    running.reload()
  }
  return (
    <div class="stack">
      <p class="quiet">
        Statements, searches, questions and uploads under way
        {mayRunServer() ? '' : ', those of your own'}. Work without a request is a{' '}
        <a href="/operations/jobs">job</a>.
      </p>
      <Loaded of={running} what="what runs">
        {(items) =>
          items.length === 0 ? (
            <EmptyState icon="check" title="Nothing runs now">
              <p>What takes longer than a moment appears here by itself.</p>
            </EmptyState>
          ) : (
            <ul class="operations-list">
              {items.map((one) => (
                <RunningRow key={one.number} running={one} onCancel={() => cancel(one.number)} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  )
}

interface RunningRowProps {
  readonly running: RunningRequest
  readonly onCancel: () => void
}

function RunningRow({ running, onCancel }: RunningRowProps) {
  const { method, path: address, statement, ms, principal } = running
  return (
    <li class="panel operations-job">
      <div class="row">
        <strong class="grow" dir="auto">
          {method} {address}
        </strong>
        <span class="badge accent">{shownDuration(ms)}</span>
        <Button
          look="small"
          icon="stop"
          label="Cancel"
          aria-label={`Cancel ${statement ?? `${method} ${address}`}`}
          onClick={onCancel}
        />
      </div>
      {statement !== null && (
        <code class="pre" dir="auto">
          {statement}
        </code>
      )}
      {principal !== null && (
        <p class="small quiet" dir="auto">
          {principal}
        </p>
      )}
    </li>
  )
}
