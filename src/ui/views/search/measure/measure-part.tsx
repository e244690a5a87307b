/** How well the knowledge base finds what was marked as right. */
import { useMemo, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { asError } from '../../../api/request.ts'
import { may } from '../../../api/session.ts'
import { Button } from '../../../components/button.tsx'
import { EmptyState, Failure, Loading, Progress } from '../../../components/failure.tsx'
import { counted, shownDuration } from '../../../components/numbers.ts'
import { ImportQuestions } from '../judgments/import-questions.tsx'
import { type Judging, useJudgments } from '../judgments/judging.ts'
import { tableOf } from '../judgments/judgments.ts'
import { type Compared, chanceOf, comparedOf } from './comparison.ts'
import { type Evaluated, evaluated, type Metric, meanOf } from './evaluation.ts'
import { EvaluationForm } from './evaluation-form.tsx'
import { KS, type MeasureSettings, measureQuery, measureSettingsOf } from './measure-address.ts'
import { MeasurementHistory } from './measurement-history.tsx'
import { QuestionTable } from './question-table.tsx'

/** What was measured last, for whoever comes back from a question. */
const KEPT = new Map<string, readonly Evaluated[]>()

export function MeasurePart({ place }: { readonly place: KnowledgeBaseName }) {
  const { query, path, route } = useLocation()
  const judging = useJudgments(place)
  const chosen = useMemo(() => measureSettingsOf(query), [JSON.stringify(query)])
  const change = (part: Partial<MeasureSettings>) => {
    route(`${path}${measureQuery({ ...chosen, ...part })}`, true)
  }
  const run = useEvaluation(place, judging, chosen)
  const questionCount = new Set(
    judging.all.filter(({ grade }) => grade !== null).map(({ question }) => question),
  ).size
  if (judging.failure) return <Failure error={judging.failure} onRetry={judging.reload} />
  if (judging.isLoading) return <Loading what="judgments" />
  return (
    <div class="stack">
      <Judged place={place} judging={judging} questionCount={questionCount} />
      {questionCount === 0 ? (
        <EmptyState icon="check" title="Nothing is marked as right yet">
          <p>
            Search, and press “Right” next to what answers the question. Or import questions with
            the ids of their documents.
          </p>
        </EmptyState>
      ) : (
        <>
          <EvaluationForm
            place={place}
            settings={chosen.settings}
            onChange={(settings) => change({ settings })}
          />
          <div class="row">
            <Button
              look="primary"
              label={judging.unsaved.length > 0 && may('write') ? 'Save and evaluate' : 'Evaluate'}
              disabled={!may('write') && !hasSaved(judging)}
              aria-disabled={run.step !== undefined}
              onClick={run.start}
            />
            {run.step !== undefined && <Button label="Stop" onClick={run.stop} />}
          </div>
        </>
      )}
      {run.step !== undefined && (
        <Progress
          label={`Searching ${counted(questionCount, 'question')} with settings ${'AB'[run.step]} …`}
        />
      )}
      {run.failure && <Failure error={run.failure} onRetry={run.start} />}
      {run.results.length > 0 && (
        <MeasureResults
          place={place}
          results={run.results}
          k={chosen.k}
          onK={(k) => change({ k })}
        />
      )}
      <MeasurementHistory
        place={place}
        results={run.results}
        k={chosen.k}
        onUse={(setting) => change({ settings: [setting, ...chosen.settings.slice(1)] })}
      />
    </div>
  )
}

interface JudgedProps {
  readonly place: KnowledgeBaseName
  readonly judging: Judging
  readonly questionCount: number
}

function Judged({ place, judging, questionCount }: JudgedProps) {
  const graded = judging.all.filter(({ grade }) => grade !== null)
  const sql = `SELECT * FROM ${tableOf(place)} ORDER BY question`
  return (
    <div class="row">
      <p>
        {counted(questionCount, 'question')}, {counted(graded.length, 'judgment')}
        {judging.unsaved.length > 0 && `, ${judging.unsaved.length} not saved yet`}
        {judging.unsaved.length > 0 && !may('write') && ': saving is for editors and admins'}
      </p>
      <span class="grow" />
      {hasSaved(judging) && (
        <a
          class="button quiet"
          href={`/sql?${new URLSearchParams({ q: sql, project: place.project })}`}
        >
          Open the judgments in SQL
        </a>
      )}
      {may('write') && <ImportQuestions place={place} onDone={judging.reload} />}
    </div>
  )
}

/** Whether there is a table of judgments. */
function hasSaved({ all, unsaved }: Judging): boolean {
  return all.filter(({ grade }) => grade !== null).length > unsaved.length
}

/** Evaluates one setting after the other: beside each other, each would slow the other down. */
function useEvaluation(place: KnowledgeBaseName, judging: Judging, { settings }: MeasureSettings) {
  const key = JSON.stringify(place)
  const [results, setResults] = useState(KEPT.get(key) ?? [])
  const [failure, setFailure] = useState<Error>()
  const [running, setRunning] = useState<{ readonly abort: AbortController; step: number }>()
  const start = async () => {
    if (running !== undefined) return
    const abort = new AbortController()
    setFailure(undefined)
    setRunning({ abort, step: 0 })
    try {
      if (judging.unsaved.length > 0 && may('write')) await judging.save()
      const judgments = judging.all.filter(({ grade }) => grade !== null)
      const all: Evaluated[] = []
      for (const [step, setting] of settings.entries()) {
        setRunning({ abort, step })
        all.push(await evaluated({ place, setting, judgments }, abort.signal))
      }
      KEPT.set(key, all)
      setResults(all)
    } catch (error) {
      if (!abort.signal.aborted) setFailure(asError(error))
    } finally {
      setRunning(undefined)
    }
  }
  return { results, failure, start, step: running?.step, stop: () => running?.abort.abort() }
}

interface MeasureResultsProps {
  readonly place: KnowledgeBaseName
  readonly results: readonly Evaluated[]
  readonly k: number
  readonly onK: (k: number) => void
}

/** What EVALUATE found: curves, which setting is better, and the questions to look at. */
function MeasureResults({ place, results, k, onK }: MeasureResultsProps) {
  const [first, second] = results
  const compared = useMemo(
    () => (second ? comparedOf(first?.questions ?? [], second.questions, k) : []),
    [results, k],
  )
  const linesOf = (metric: Metric) => {
    return results.map(({ questions }, index) => {
      return { name: 'AB'[index] ?? '', values: meanOf(questions, metric) }
    })
  }
  return (
    <>
      <fieldset class="search-ks row">
        <legend class="visually-hidden">Results that count</legend>
        <span aria-hidden="true">Results that count</span>
        {KS.map((one) => (
          <Button look="small" key={one} aria-pressed={one === k} onClick={() => onK(one)}>
            {one}
          </Button>
        ))}
      </fieldset>
      <Verdict results={results} compared={compared} k={k} />
      <div class="search-compared">
        <Curve title="nDCG@k" lines={linesOf('ndcg')} k={k} />
        <Curve title="recall@k" lines={linesOf('recall')} k={k} />
      </div>
      <QuestionTable place={place} results={results} compared={compared} k={k} />
    </>
  )
}

const NAMES = ['A', 'B'] as const
/** Below it, most people call a difference significant. */
const CHANCE_MAX = 0.05

interface VerdictProps {
  readonly results: readonly Evaluated[]
  readonly compared: readonly Compared[]
  readonly k: number
}

/** What came out, in words: of two settings, which is better, and whether that is more than chance. */
function Verdict({ results, compared, k }: VerdictProps) {
  const times = results.map(({ meanSeconds }, index) => {
    const name = results.length > 1 ? `${NAMES[index]}: ` : ''
    return `${name}${shownDuration(meanSeconds * 1000)}`
  })
  return (
    <div class="stack" role="status">
      {results.length > 1 && <p>{verdictOf(results, compared, k)}</p>}
      <p class="small quiet">
        {counted(results[0]?.questions.length ?? 0, 'question')} with a right document. Time of a
        search while four ran at once: {times.join(', ')}.
      </p>
      {results.flatMap(({ warnings }, index) =>
        warnings.map((warning) => (
          <p key={`${index} ${warning}`} class="search-warning small pre" dir="auto">
            {results.length > 1 && `${NAMES[index]}: `}
            {warning}
          </p>
        )),
      )}
    </div>
  )
}

function verdictOf(results: readonly Evaluated[], compared: readonly Compared[], k: number) {
  const [first = 0, second = 0] = results.map(({ questions }) => {
    return meanOf(questions, 'ndcg')[k - 1] ?? 0
  })
  const better = compared.filter(({ change }) => change > 0).length
  const worse = compared.filter(({ change }) => change < 0).length
  const same = compared.length - better - worse
  if (better + worse === 0) return `A and B do equally well for every question, by nDCG@${k}.`
  const difference = Math.abs(second - first).toFixed(3)
  const counts = `B is better for ${better}, worse for ${worse}, the same for ${same}.`
  const chance = chanceOf(compared.map(({ change }) => change))
  const percent = chance < 0.001 ? 'less than 0.1' : (chance * 100).toFixed(1)
  const means =
    chance < CHANCE_MAX
      ? `This is unlikely to be chance (${percent} % of cases).`
      : `Chance alone would do that in ${percent} % of cases: there may be no difference at all.`
  const who = second > first ? 'B is better' : second < first ? 'A is better' : 'They are equal'
  return `${who} by ${difference} in nDCG@${k}. ${counts} ${means}`
}

/** Lines over k. */
interface Line {
  readonly name: string
  /** From 0 to 1. */
  readonly values: readonly number[]
}

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [480, 200, 34, 20]
const [TOP, RIGHT] = [6, 10]
const MARKED_KS = [1, 5, 10, 15, 20]

interface CurveProps {
  readonly title: string
  readonly lines: readonly Line[]
  /** The k that is looked at. */
  readonly k: number
}

function Curve({ title, lines, k }: CurveProps) {
  const count = Math.max(2, ...lines.map(({ values }) => values.length))
  const lowest = Math.min(...lines.flatMap(({ values }) => values))
  // Two good settings differ in the upper part alone.
  const floor = lowest >= 0.5 ? Math.min(0.9, Math.floor(lowest * 10) / 10) : 0
  const x = (index: number) => LEFT + (index / (count - 1)) * (WIDTH - LEFT - RIGHT)
  const y = (value: number) => TOP + ((1 - value) / (1 - floor)) * (HEIGHT - BOTTOM - TOP)
  const summary = lines.map(({ name, values }) => {
    return `${name}: ${(values[k - 1] ?? 0).toFixed(3)} at ${k}`
  })
  return (
    <figure class="panel search-curve">
      <figcaption>
        <strong>{title}</strong>
        {summary.map((one, line) => (
          <span key={one} class="small search-key">
            <span class={`search-stroke line-${line + 1}`} aria-hidden="true" /> {one}
          </span>
        ))}
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${title}. ${summary.join(', ')}`}
      >
        {[floor, (1 + floor) / 2, 1].map((value) => (
          <g key={value}>
            <line x1={LEFT} x2={WIDTH - RIGHT} y1={y(value)} y2={y(value)} class="tick" />
            <text x={LEFT - 6} y={y(value) + 4} text-anchor="end">
              {Number(value.toFixed(2))}
            </text>
          </g>
        ))}
        <line x1={x(k - 1)} x2={x(k - 1)} y1={TOP} y2={HEIGHT - BOTTOM} class="tick" />
        {MARKED_KS.map((one) => (
          <text key={one} x={x(one - 1)} y={HEIGHT - 4} text-anchor="middle">
            {one}
          </text>
        ))}
        {lines.map(({ name, values }, line) => (
          <polyline
            key={name}
            class={`line-${line + 1}`}
            points={values.map((value, index) => `${x(index)},${y(value)}`).join(' ')}
          />
        ))}
      </svg>
    </figure>
  )
}
