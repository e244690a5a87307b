/** Runs that are over, the newest first, page by page. */
import { useRef, useState } from 'preact/hooks'
import { listTraces } from '../../api/agents.ts'
import type { TraceList as Page } from '../../api/records.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { shownCount, shownDuration, shownTime } from '../../components/numbers.ts'
import { Loading } from '../../components/progress.tsx'
import { useAction, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'

type Filters = Readonly<Record<string, string>>

interface TraceListProps {
  readonly filters: Filters
  readonly hasAgentColumn: boolean
  /** Rises when there may be new ones. */
  readonly version: number
}

const PAGE = '100'

export function TraceList({ filters, hasAgentColumn, version }: TraceListProps) {
  const key = JSON.stringify([filters, version])
  const [after, setAfter] = useState<{ key: string; pages: readonly Page[] }>()
  const first = useResource(
    (signal) => listTraces({ ...filters, limit: PAGE }, signal),
    [filters, version],
  )
  const { act, failure, isBusy } = useAction()
  const pages = after?.key === key ? after.pages : []
  const next = pages.at(-1)?.next ?? (pages.length === 0 ? first.data?.next : null)
  // While a word is typed: rows that go and come again with each letter cannot be read.
  const others = JSON.stringify({ ...filters, q: '' })
  const shown = useRef<{ readonly others: string; readonly page: Page } | undefined>(undefined)
  if (first.data !== undefined) shown.current = { others, page: first.data }
  const isKept = first.failure === undefined && shown.current?.others === others
  const newest = isKept ? shown.current?.page : first.data
  const traces = [...(newest?.items ?? []), ...pages.flatMap(({ items }) => items)]
  const readMore = () => {
    void act(async () => {
      const page = await listTraces({ ...filters, limit: PAGE, cursor: next ?? '' })
      setAfter({ key, pages: [...pages, page] })
    })
  }
  return (
    <>
      {first.failure && <Failure error={first.failure} onRetry={first.reload} />}
      {first.isLoading && newest === undefined && <Loading what="the traces" />}
      {first.data?.items.length === 0 && (
        <EmptyState icon="chart" title="No traces">
          <p class="quiet">Every question leaves a trace. Ask an agent, or change the filters.</p>
        </EmptyState>
      )}
      {traces.length > 0 && <Table traces={traces} hasAgentColumn={hasAgentColumn} />}
      {failure && <Failure error={failure} onRetry={readMore} />}
      {next && (
        <div class="row">
          <Button label="Show earlier ones" disabled={isBusy} onClick={readMore} />
          <span class="small quiet">{shownCount(traces.length)} are shown</span>
        </div>
      )}
    </>
  )
}

const OUTCOMES = { answered: 'good', failed: 'bad', cancelled: 'warn' } as const

function Table({
  traces,
  hasAgentColumn,
}: {
  readonly traces: Page['items']
  readonly hasAgentColumn: boolean
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keyboard
    <div class="panel flush" tabIndex={0}>
      <table class="agents-traces stacked">
        <thead>
          <tr>
            <th scope="col">Question</th>
            {hasAgentColumn && <th scope="col">Agent</th>}
            <th scope="col">Ended</th>
            <th scope="col" class="number">
              Took
            </th>
            <th scope="col" class="number">
              Steps
            </th>
            <th scope="col" class="number">
              Tokens
            </th>
            <th scope="col">Rated</th>
            <th scope="col">When</th>
          </tr>
        </thead>
        <tbody>
          {traces.map((trace) => (
            <tr key={trace.trace_id}>
              <td class="stacked-first">
                <a href={addressOf.trace(trace.trace_id)} dir="auto">
                  {trace.question.slice(0, 200)}
                </a>
              </td>
              {hasAgentColumn && <td dir="auto">{`${trace.project}.${trace.agent}`}</td>}
              <td>
                <span class={`badge ${OUTCOMES[trace.outcome]}`}>{trace.outcome}</span>{' '}
                {trace.outcome === 'failed' && <span class="small quiet">{trace.error_code}</span>}
              </td>
              <td class="number">{shownDuration(trace.took_ms)}</td>
              <td class="number" data-label="Steps">
                {trace.step_count}
              </td>
              <td class="number" data-label="Tokens">
                {trace.usage === null
                  ? '–'
                  : shownCount(trace.usage.input_tokens + trace.usage.output_tokens)}
              </td>
              <td dir="auto">{ratingOf(trace.feedback)}</td>
              <td>{shownTime(trace.started_at)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function ratingOf(feedback: Page['items'][number]['feedback']): string {
  if (feedback === null) return ''
  const word = feedback.rating > 0 ? 'good' : 'bad'
  const shown = feedback.rating === 0 ? 'neither' : word
  return feedback.comment ? `${shown}: ${feedback.comment}` : shown
}
