/** One question with its steps, answer, sources and actions. */
import { useEffect, useState } from 'preact/hooks'
import type { Citation } from '../../../../core/domain/agents/completion-event.ts'
import { rateTrace } from '../../../api/agents.ts'
import { listDocuments } from '../../../api/documents.ts'
import { Button, CopyButton, Icon } from '../../../components/button.tsx'
import { Failure, Warnings } from '../../../components/failure.tsx'
import { shownDuration } from '../../../components/numbers.ts'
import { useResource } from '../../../components/resource.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { tellFailed } from '../../../shell/notices.tsx'
import { AnswerText, addressOfCitation, chunkIds } from './answer-text.tsx'
import { type AskedTurn, NEXT_STEPS, usageOf } from './asked-turn.ts'
import { Findings } from './findings.tsx'
import type { TraceSummary } from './kept-turns.ts'
import { KeptSteps, StepList } from './step-list.tsx'

export function TurnCard(props: {
  readonly turn: AskedTurn
  readonly project: string
  /** The question's trace, if it was read. */
  readonly summary?: TraceSummary | undefined
  /** Whether another question is running. */
  readonly isDisabled: boolean
  readonly onAsk: () => void
  /** Missing if the question is not stored on the server. */
  readonly onRemove?: ((isEdited: boolean) => void) | undefined
}) {
  const { turn, project, summary, isDisabled, onAsk, onRemove } = props
  const sources = turn.found?.citations ?? NO_CITATIONS
  const isRunning = turn.state === 'running'
  const { traceId } = turn
  return (
    <article class="stack agents-turn" aria-busy={isRunning}>
      <h2 class="banner agents-question pre">{turn.question}</h2>
      {turn.steps.length > 0 && <StepList steps={turn.steps} project={project} />}
      {turn.steps.length === 0 && summary !== undefined && summary.step_count > 0 && (
        <KeptSteps traceId={summary.trace_id} count={summary.step_count} project={project} />
      )}
      {turn.text !== '' && <AnswerText text={turn.text} citations={sources} />}
      {isRunning && <Clock since={turn.startedAtMs} hasText={turn.text !== ''} />}
      <HowItEnded turn={turn} />
      <Warnings of={turn.found?.warnings} />
      {turn.found && <Findings found={turn.found} project={project} />}
      <Sources citations={sources} answer={turn.text} />
      {citesNothing(turn) && (
        <p class="small quiet">This answer has no sources. Check it before you rely on it.</p>
      )}
      {!isRunning && (
        <div class="row small">
          <Spent turn={turn} summary={summary} />
          {turn.text !== '' && <CopyButton text={turn.text} />}
          {traceId !== undefined && <Feedback traceId={traceId} summary={summary} />}
          {traceId !== undefined && (
            <a class="button small quiet" href={addressOf.trace(traceId)}>
              <Icon name="chart" /> Trace
            </a>
          )}
          <Button look="small quiet" label="Ask again" disabled={isDisabled} onClick={onAsk} />
          {onRemove && (
            <>
              <Button
                look="small quiet"
                label="Edit"
                disabled={isDisabled}
                onClick={() => onRemove(true)}
              />
              <Button
                look="small quiet icon-only"
                icon="trash"
                aria-label="Delete this question and everything after it"
                title="Delete"
                disabled={isDisabled}
                onClick={() => onRemove(false)}
              />
            </>
          )}
        </div>
      )}
    </article>
  )
}

const NO_CITATIONS: readonly Citation[] = []

/** Whether the answer cites neither documents nor rows, so that it is only the model's own text. */
function citesNothing({ state, found }: AskedTurn): boolean {
  if (state !== 'answered' || found === undefined) return false
  // The built-in model says itself that it found nothing.
  if (found.evidence === 'none' && !found.low_evidence) return false
  const { citations, statements = [], charts = [], result } = found
  return citations.length + statements.length + charts.length === 0 && !result
}

/** Shows the time taken, and the tokens that the provider counted. */
function Spent(props: { readonly turn: AskedTurn; readonly summary: TraceSummary | undefined }) {
  const { turn, summary } = props
  const watchedMs = turn.endedAtMs === undefined ? undefined : turn.endedAtMs - turn.startedAtMs
  const tookMs = summary?.took_ms ?? watchedMs
  const words = [
    ...(tookMs === undefined ? [] : [shownDuration(tookMs)]),
    // The built-in model is free.
    ...(summary === undefined || summary.provider === 'builtin' ? [] : [usageOf(summary.usage)]),
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
      <p class="warning" role="alert">
        <Icon name="warning" />{' '}
        {turn.conversationId === undefined
          ? 'The connection was lost. This part arrived; ask again for the complete answer.'
          : 'The connection was lost. This part arrived; the rest follows when the server is back. If it does not, ask again.'}
      </p>
    )
  }
  if (turn.state !== 'failed') return null
  return (
    <Failure
      title={turn.text === '' ? 'No answer' : 'The answer is incomplete'}
      error={new Error(turn.failure?.words)}
    >
      <p>{NEXT_STEPS[turn.failure?.kind ?? 'general'] ?? NEXT_STEPS.general}</p>
    </Failure>
  )
}

const RATINGS = [
  [1, 'Good'],
  [-1, 'Bad'],
] as const

function Feedback(props: { readonly traceId: string; readonly summary: TraceSummary | undefined }) {
  const { traceId, summary } = props
  const [given, setRating] = useState<number>()
  const rating = given ?? summary?.feedback?.rating
  const rate = (next: number) => {
    rateTrace(traceId, next).then(() => setRating(next), tellFailed)
  }
  return (
    <fieldset class="row">
      <legend class="visually-hidden">Was this answer good?</legend>
      {RATINGS.map(([value, words]) => (
        <Button
          look="small quiet"
          label={words}
          key={value}
          aria-pressed={rating === value}
          onClick={() => rate(value)}
        />
      ))}
    </fieldset>
  )
}

// The sources below an answer. Each shows its title, location and one passage, and links to its
// document.

function Sources(props: {
  readonly citations: readonly Citation[]
  /** The answer's text, which the source's passage need not repeat. */
  readonly answer: string
}) {
  const { citations, answer } = props
  const titles = useTitles(citations)
  if (citations.length === 0) return null
  const plain = bare(answer)
  return (
    <section aria-label="Sources">
      <ol class="list agents-sources small">
        {chunkIds(citations).map((id, index) => {
          const quotes = citations.filter(({ chunk_id }) => chunk_id === id)
          const [first] = quotes
          if (first === undefined) return null
          const title = titles.get(documentKey(first))
          const unsaid = quotes
            .map(({ text }) => text)
            .filter((text) => !plain.includes(bare(text)))
          return (
            <li key={id}>
              <a href={addressOfCitation(first)}>
                <span class="badge accent" aria-hidden="true">
                  {index + 1}
                </span>{' '}
                <bdi>{title ?? first.document_id}</bdi>{' '}
                <bdi class="quiet">{placeIn(first, title)}</bdi>
              </a>
              {unsaid.length > 0 && (
                <q class="quiet clamped">
                  <mark>{unsaid.join(' … ')}</mark>
                </q>
              )}
            </li>
          )
        })}
      </ol>
    </section>
  )
}

/** Returns the location, such as `Brewing › Water, page 4`. */
function placeIn({ heading, page }: Citation, title = ''): string {
  const headings = (heading ?? '').split(' > ')
  const below = headings[0] === title ? headings.slice(1) : headings
  const place = [below.join(' › '), page === null ? '' : `page ${page}`]
  return place.filter(Boolean).join(', ')
}

function bare(text: string): string {
  return text.replace(/[\s*_`>#“”"]+/g, ' ').toLowerCase()
}

function documentKey({ knowledge_base, document_id }: Citation): string {
  return JSON.stringify([knowledge_base, document_id])
}

/** Reads the documents' titles, with one request per knowledge base. */
function useTitles(citations: readonly Citation[]): ReadonlyMap<string, string> {
  const keys = [...new Set(citations.map(documentKey))]
  const { data } = useResource(async (signal) => {
    const groups = Map.groupBy(citations, ({ knowledge_base }) => knowledge_base)
    const found = await Promise.all(
      [...groups].map(async ([knowledgeBase, cited]) => {
        const [project = '', ...rest] = knowledgeBase.split('.')
        const ids = [...new Set(cited.map(({ document_id }) => document_id))]
        const part = { limit: ids.length, filters: { id: { in: ids } } }
        const list = await listDocuments({ project, name: rest.join('.') }, part, signal)
        return list.items.flatMap(({ id, title }) => {
          return title === null ? [] : [[JSON.stringify([knowledgeBase, id]), title] as const]
        })
      }),
    )
    return found.flat()
  }, keys)
  return new Map(data)
}
