/** How well the knowledge base finds what was marked as right. */
import { useMemo, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { asError } from '../../../api/request.ts'
import { may } from '../../../api/session.ts'
import { Button } from '../../../components/button.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading, Progress } from '../../../components/progress.tsx'
import { counted } from '../../../format/numbers.ts'
import { ImportQuestions } from '../judgments/import-questions.tsx'
import { type Judging, useJudgments } from '../judgments/judging.ts'
import { tableOf } from '../judgments/judgments.ts'
import { type Evaluated, evaluated } from './evaluation.ts'
import { EvaluationForm } from './evaluation-form.tsx'
import { type MeasureSettings, measureQuery, measureSettingsOf } from './measure-address.ts'
import { MeasureResults } from './measure-results.tsx'
import { MeasurementHistory } from './measurement-history.tsx'

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
