/** The steps of a turn that this page did not watch: read from its trace when they are opened. */
import { useState } from 'preact/hooks'
import { readTrace } from '../../../api/agents.ts'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'
import { counted } from '../../../format/numbers.ts'
import { StepList } from './step-list.tsx'

interface KeptStepsProps {
  readonly traceId: string
  readonly count: number
  readonly project: string
}

export function KeptSteps({ traceId, count, project }: KeptStepsProps) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details class="agents-steps" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{counted(count, 'step')}</summary>
      {isOpen && <ReadSteps traceId={traceId} project={project} />}
    </details>
  )
}

function ReadSteps({ traceId, project }: Omit<KeptStepsProps, 'count'>) {
  const found = useResource((signal) => readTrace(traceId, signal), [traceId])
  const steps = (found.data?.steps ?? []).map((step) => ({
    action: { tool: step.tool, tool_input: step.input, log: '' },
    observation: step.observation,
    startedAtMs: step.start_ms,
    endedAtMs: step.start_ms + step.took_ms,
  }))
  return (
    <>
      {found.failure && <Failure error={found.failure} onRetry={found.reload} />}
      {found.isLoading && <Loading what="the steps" />}
      <StepList steps={steps} project={project} />
    </>
  )
}
