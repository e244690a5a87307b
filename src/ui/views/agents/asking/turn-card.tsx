/** One question with its steps, its answer, where that comes from, and what can be done with it. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Citation, StatementRows } from '../../../../core/domain/agents/completion-event.ts'
import { rateTrace, readTrace } from '../../../api/agents.ts'
import { Button, CopyButton, Icon } from '../../../components/button.tsx'
import { Chart } from '../../../components/chart/chart.tsx'
import { Failure } from '../../../components/failure.tsx'
import { counted, shownDuration } from '../../../components/numbers.ts'
import { RecordTable } from '../../../components/record-list.tsx'
import { useAction, useResource } from '../../../components/resource.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { tellDone, tellFailed } from '../../../shell/notices.tsx'
import { drawnChart } from './agent-chart.ts'
import { AnswerText, addressOfCitation, CitationChip } from './answer-text.tsx'
import { type AskedTurn, type Found, NEXT_STEPS, usageOf } from './asked-turn.ts'
import type { TraceSummary } from './kept-turns.ts'
import { gistOf, StepList, ToolInput } from './step-list.tsx'

interface TurnCardProps {
  readonly turn: AskedTurn
  readonly project: string
  /** What its trace says, where it was read. */
  readonly summary?: TraceSummary | undefined
  readonly sharedChunks?: ReadonlySet<string>
  readonly actions?: ComponentChildren
  /** The question, time and tokens stand somewhere else. */
  readonly isBare?: boolean
}

export function TurnCard(props: TurnCardProps) {
  const { turn, project, summary, sharedChunks, actions, isBare = false } = props
  const sources = turn.found?.citations ?? NO_CITATIONS
  const isRunning = turn.state === 'running'
  const { traceId } = turn
  return (
    <article class="agents-turn" aria-busy={isRunning}>
      {!isBare && (
        <p class="agents-question pre" dir="auto">
          {turn.question}
        </p>
      )}
      {turn.steps.length > 0 && <StepList steps={turn.steps} project={project} />}
      {turn.steps.length === 0 && summary !== undefined && summary.step_count > 0 && (
        <KeptSteps traceId={summary.trace_id} count={summary.step_count} project={project} />
      )}
      {turn.text !== '' && <AnswerText text={turn.text} citations={sources} />}
      {isRunning && <Clock since={turn.startedAtMs} hasText={turn.text !== ''} />}
      <HowItEnded turn={turn} />
      {(turn.found?.warnings ?? []).map((warning) => (
        <p key={warning} class="agents-warning small" dir="auto">
          <Icon name="warning" /> {warning}
        </p>
      ))}
      {turn.found && <Findings found={turn.found} project={project} />}
      <Sources citations={sources} shared={sharedChunks} />
      {!isRunning && (
        <div class="row small">
          {!isBare && <Spent turn={turn} summary={summary} />}
          {turn.text !== '' && <CopyButton text={turn.text} label="Copy the answer" />}
          {traceId !== undefined && <Feedback traceId={traceId} summary={summary} />}
          {traceId !== undefined && (
            <a class="button small quiet" href={addressOf.trace(traceId)}>
              <Icon name="chart" /> Trace
            </a>
          )}
          {actions}
        </div>
      )}
    </article>
  )
}

const NO_CITATIONS: readonly Citation[] = []

/** How long it took, and the tokens that the model counted. */
function Spent({
  turn,
  summary,
}: {
  readonly turn: AskedTurn
  readonly summary: TraceSummary | undefined
}) {
  const watchedMs = turn.endedAtMs === undefined ? undefined : turn.endedAtMs - turn.startedAtMs
  const tookMs = summary?.took_ms ?? watchedMs
  const words = [
    ...(tookMs === undefined ? [] : [shownDuration(tookMs)]),
    ...(summary?.usage ? [usageOf(summary.usage)] : []),
  ]
  return <span class="quiet grow">{words.join(' · ')}</span>
}

function Clock({ since, hasText }: { readonly since: number; readonly hasText: boolean }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 100)
    return () => clearInterval(timer)
  }, [])
  return (
    <p class="small quiet">
      {hasText ? 'Answering' : 'Working'} … {shownDuration(Math.max(0, now - since))}
    </p>
  )
}

function HowItEnded({ turn }: { readonly turn: AskedTurn }) {
  if (turn.state === 'stopped') {
    return (
      <p>
        <span class="badge warn">Stopped</span>
      </p>
    )
  }
  if (turn.state === 'cut') {
    return (
      <p class="agents-warning" role="alert">
        <Icon name="warning" />{' '}
        {turn.conversationId === undefined
          ? 'The connection broke off. What had come stays here; ask again for the whole answer.'
          : 'The connection broke off. What had come stays here, and the rest comes when the server is back. If it does not, ask again.'}
      </p>
    )
  }
  if (turn.state !== 'failed') return null
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{turn.text === '' ? 'There is no answer' : 'The answer broke off'}</strong>
        <p class="pre" dir="auto">
          {turn.failure?.words}
        </p>
        <p>{NEXT_STEPS[turn.failure?.kind ?? 'general'] ?? NEXT_STEPS.general}</p>
      </div>
    </div>
  )
}

function Sources({
  citations,
  shared,
}: {
  readonly citations: readonly Citation[]
  readonly shared: ReadonlySet<string> | undefined
}) {
  if (citations.length === 0) return null
  const ids = [...new Set(citations.map(({ chunk_id }) => chunk_id))]
  return (
    <ol class="agents-sources small" aria-label="Sources">
      {citations.map((citation, index) => (
        <li key={index}>
          <CitationChip
            number={ids.indexOf(citation.chunk_id) + 1}
            citation={citation}
            isShared={shared?.has(`${citation.knowledge_base} ${citation.chunk_id}`) ?? false}
          />
          <a href={addressOfCitation(citation)} dir="auto">
            {citation.document_id}
          </a>
          {citation.page !== null && <span class="quiet">page {citation.page}</span>}
          {shared?.has(`${citation.knowledge_base} ${citation.chunk_id}`) && (
            <span class="badge accent">In both</span>
          )}
          <q class="quiet" dir="auto">
            {citation.text}
          </q>
        </li>
      ))}
    </ol>
  )
}

interface KeptStepsProps {
  readonly traceId: string
  readonly count: number
  readonly project: string
}

/** The steps of a turn that this page did not watch: read from its trace when they come into sight. */
function KeptSteps({ traceId, count, project }: KeptStepsProps) {
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

interface FeedbackProps {
  readonly traceId: string
  readonly summary: TraceSummary | undefined
}

const RATINGS = [
  [1, 'Good'],
  [-1, 'Bad'],
] as const

/** What the reader thought of an answer: good or bad, and why. It stands in the trace. */
function Feedback({ traceId, summary }: FeedbackProps) {
  const [given, setRating] = useState<number>()
  const [typed, setComment] = useState<string>()
  const rating = given ?? summary?.feedback?.rating
  const comment = typed ?? summary?.feedback?.comment ?? ''
  const [isAsking, setIsAsking] = useState(false)
  const { act, failure, isBusy } = useAction()
  const rate = async (next: number) => {
    try {
      await rateTrace(traceId, { rating: next, ...(comment === '' ? {} : { comment }) })
      setRating(next)
      setIsAsking(true)
    } catch (error) {
      tellFailed(error)
    }
  }
  const say = () => {
    void act(async () => {
      await rateTrace(traceId, { rating: rating ?? 0, comment })
      setIsAsking(false)
      tellDone('Thank you. It is saved in the trace')
    })
  }
  return (
    <fieldset class="row agents-feedback">
      <legend class="visually-hidden">Was this answer good?</legend>
      {RATINGS.map(([value, words]) => (
        <Button
          look="small quiet"
          label={words}
          key={value}
          aria-pressed={rating === value}
          onClick={() => void rate(value)}
        />
      ))}
      {isAsking && (
        <>
          <input
            aria-label="Why (optional)"
            placeholder="Why? (optional)"
            dir="auto"
            value={comment}
            onInput={(event) => setComment(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && !event.isComposing) say()
            }}
          />
          <Button look="small" label="Send" aria-disabled={isBusy} onClick={say} />
          {failure && <span class="bad">{failure.message}</span>}
        </>
      )}
    </fieldset>
  )
}

/** What an answer leans on besides its sources: charts, and the rows of statements. */
function Findings({ found, project }: { readonly found: Found; readonly project: string }) {
  const { charts = [], statements = [], result } = found
  return (
    <>
      {charts.map((chart, index) => {
        const drawn = drawnChart(chart)
        return (
          <section key={index} class="panel stack" aria-label={drawn?.title || 'Chart'}>
            {drawn?.title && <h3 dir="auto">{drawn.title}</h3>}
            {drawn && (
              <Chart
                choice={drawn.choice}
                columns={drawn.columns.map((name) => ({ name, type: '' }))}
                rows={drawn.rows}
              />
            )}
            <Rows label="Rows of the chart" rows={{ ...chart, is_cut: false }} project={project} />
          </section>
        )
      })}
      {result && <Rows label="Result" rows={result} project={project} isOpen />}
      {statements.map((rows, index) => (
        <Rows key={index} label="Rows that were read" rows={rows} project={project} />
      ))}
    </>
  )
}

const ROWS_SHOWN_MAX = 100
const CELL_CHARS_MAX = 200

interface RowsProps {
  readonly label: string
  readonly rows: StatementRows
  readonly project: string
  readonly isOpen?: boolean
}

function Rows({ label, rows, project, isOpen = false }: RowsProps) {
  const { sql, column_names: columns, data, is_cut: isCut } = rows
  const shown = data.slice(0, ROWS_SHOWN_MAX)
  const hasMore = isCut || shown.length < data.length
  return (
    <details class="agents-rows" open={isOpen}>
      <summary>
        {label}{' '}
        <span class="small quiet">
          {counted(shown.length, 'row')}
          {hasMore && ', the first of more'}
        </span>
        <span class="one-line quiet small mono" dir="auto">
          {gistOf(sql)}
        </span>
      </summary>
      <ToolInput input={sql} project={project} />
      <RecordTable
        label={label}
        class="agents-wide"
        look=""
        rows={shown}
        columns={columns.map((title, at) => ({
          title,
          cell: (row: readonly unknown[]) => shownCell(row[at]),
        }))}
      />
    </details>
  )
}

function shownCell(cell: unknown) {
  if (cell === null) return <span class="quiet">null</span>
  const text = typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
  return text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX)} …` : text
}
