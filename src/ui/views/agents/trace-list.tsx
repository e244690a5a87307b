/** Runs that are over, the newest first, page by page. */
import { useRef, useState } from 'preact/hooks'
import { listTraces } from '../../api/agents.ts'
import type { TraceList as Page } from '../../api/records.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState, Failure, Loading } from '../../components/failure.tsx'
import { shownCount, shownDuration, shownTime } from '../../components/numbers.ts'
import { RecordTable, type TableColumn } from '../../components/record-list.tsx'
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
      {traces.length > 0 && (
        <RecordTable
          label="Traces"
          look="agents-traces stacked"
          rows={traces}
          columns={COLUMNS.filter(({ title }) => hasAgentColumn || title !== 'Agent')}
        />
      )}
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

const COLUMNS: readonly TableColumn<Page['items'][number]>[] = [
  {
    title: 'Question',
    look: 'stacked-first',
    cell: ({ trace_id: id, question }) => (
      <a href={addressOf.trace(id)}>{question.slice(0, 200)}</a>
    ),
  },
  { title: 'Agent', cell: ({ project, agent }) => `${project}.${agent}` },
  {
    title: 'Ended',
    cell: ({ outcome, error_code: code }) => (
      <>
        <span class={`badge ${OUTCOMES[outcome]}`}>{outcome}</span>{' '}
        {outcome === 'failed' && <span class="small quiet">{code}</span>}
      </>
    ),
  },
  { title: 'Took', look: 'number', cell: ({ took_ms: ms }) => shownDuration(ms) },
  { title: 'Steps', look: 'number', label: 'Steps', cell: ({ step_count: count }) => count },
  {
    title: 'Tokens',
    look: 'number',
    label: 'Tokens',
    cell: ({ usage }) =>
      usage === null ? '–' : shownCount(usage.input_tokens + usage.output_tokens),
  },
  { title: 'Rated', cell: ({ feedback }) => ratingOf(feedback) },
  { title: 'When', cell: ({ started_at: at }) => shownTime(at) },
]

export function ratingOf(feedback: Page['items'][number]['feedback']): string {
  if (feedback === null) return ''
  const word = feedback.rating > 0 ? 'good' : 'bad'
  const shown = feedback.rating === 0 ? 'neither' : word
  return feedback.comment ? `${shown}: ${feedback.comment}` : shown
}
