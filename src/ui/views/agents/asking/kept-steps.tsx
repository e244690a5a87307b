/** The steps of a turn that this page did not watch: read from its trace when they come into sight. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { readTrace } from '../../../api/agents.ts'
import { Failure } from '../../../components/failure.tsx'
import { useResource } from '../../../components/resource.ts'
import { counted } from '../../../format/numbers.ts'
import { StepList } from './step-list.tsx'

interface KeptStepsProps {
  readonly traceId: string
  readonly count: number
  readonly project: string
}

export function KeptSteps({ traceId, count, project }: KeptStepsProps) {
  const place = useRef<HTMLOListElement>(null)
  const [isSeen, setIsSeen] = useState(false)
  useEffect(() => {
    if (place.current === null) return
    const seen = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setIsSeen(true)
    })
    seen.observe(place.current)
    return () => seen.disconnect()
  }, [])
  const found = useResource(
    async (signal) => (isSeen ? readTrace(traceId, signal) : undefined),
    [traceId, isSeen],
  )
  if (found.failure) return <Failure error={found.failure} onRetry={found.reload} />
  if (found.data === undefined) {
    // As high as what comes in its place.
    return (
      <ol class="agents-steps" ref={place} aria-label="Steps" aria-busy="true">
        {Array.from({ length: count }, (_, index) => (
          <li key={index} class="agents-step-to-come quiet small">
            {index === 0 ? `${counted(count, 'step')} …` : ''}
          </li>
        ))}
      </ol>
    )
  }
  const steps = found.data.steps.map((step) => ({
    action: { tool: step.tool, tool_input: step.input, log: '' },
    observation: step.observation,
    startedAtMs: step.start_ms,
    endedAtMs: step.start_ms + step.took_ms,
  }))
  return <StepList steps={steps} project={project} />
}
