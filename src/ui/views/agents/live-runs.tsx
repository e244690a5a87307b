/** Questions that are being answered, each to be cancelled. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { cancelRun, listRuns } from '../../api/agents.ts'
import type { RunningQuestion } from '../../api/records.ts'
import { Button } from '../../components/button.tsx'
import { counted, shownDuration } from '../../components/numbers.ts'
import { usePolling, useResource } from '../../components/resource.ts'
import { tellFailed } from '../../shell/notices.tsx'

const POLL_MS = 2000

interface LiveRunsProps {
  readonly isShown: (run: RunningQuestion) => boolean
  /** Called when one of them is over. */
  readonly onEnd: () => void
  /** What stands there where none is being answered. */
  readonly children?: ComponentChildren
}

export function LiveRuns({ isShown, onEnd, children }: LiveRunsProps) {
  const runs = useResource((signal) => listRuns(signal), [])
  usePolling(runs.reload, POLL_MS)
  const mine = (runs.data ?? []).filter(isShown)
  const before = useRef<readonly string[]>([])
  useEffect(() => {
    if (runs.data === undefined) return
    const ids = mine.map((run) => run.trace_id)
    if (before.current.some((id) => !ids.includes(id))) onEnd()
    before.current = ids
  }, [runs.data])
  if (mine.length === 0) return <>{children}</>
  return (
    <section class="panel stack" aria-label="Under way">
      <h2>Under way</h2>
      {mine.map(({ trace_id: id, question, state, seconds, steps }) => (
        <div key={id} class="row">
          <span class="grow one-line" dir="auto">
            {question}
          </span>
          <span class="small quiet">
            {state}, {shownDuration(seconds * 1000)}, {counted(steps, 'step')}
          </span>
          <Button
            look="small"
            label="Cancel"
            onClick={() => void cancelRun(id).then(runs.reload, tellFailed)}
          />
        </div>
      ))}
    </section>
  )
}
