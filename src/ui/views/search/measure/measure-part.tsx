/** How well the knowledge base finds what was marked as right. */

import { useState } from 'preact/hooks'
import { asError } from '../../../api/request.ts'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Progress } from '../../../components/progress.tsx'
import { counted } from '../../../format/numbers.ts'
import type { KnowledgeBaseAddress } from '../../knowledge-base/knowledge-base-frame.tsx'
import { ImportQuestions } from '../judgments/import-questions.tsx'
import { useJudgments } from '../judgments/judging.ts'
import { Curve } from './curve.tsx'
import {
  DEFAULT_SETTING,
  type EvaluationSetting,
  evaluated,
  type Measured,
  means,
} from './evaluation.ts'
import { EvaluationForm } from './evaluation-form.tsx'
import { WorstQuestions } from './worst-questions.tsx'

const NAMES = ['A', 'B'] as const

export function MeasurePart({ place }: { readonly place: KnowledgeBaseAddress }) {
  const judging = useJudgments(place)
  const [settings, setSettings] = useState<readonly EvaluationSetting[]>([DEFAULT_SETTING])
  const [results, setResults] = useState<readonly (readonly Measured[])[]>([])
  const [failure, setFailure] = useState<Error>()
  const [running, setRunning] = useState<AbortController>()
  const questionCount = new Set(judging.all.map(({ question }) => question)).size
  const run = async () => {
    const abort = new AbortController()
    setRunning(abort)
    setFailure(undefined)
    try {
      if (judging.unsaved.length > 0) await judging.save()
      const grades = judging.all.filter(({ grade }) => grade !== null)
      const all: (readonly Measured[])[] = []
      for (const setting of settings) {
        all.push(await evaluated({ place, setting, judgments: grades }, abort.signal))
      }
      setResults(all)
    } catch (error) {
      if (!abort.signal.aborted) setFailure(asError(error))
    } finally {
      setRunning(undefined)
    }
  }
  if (judging.failure) return <Failure error={judging.failure} onRetry={judging.reload} />
  const drawn = results.map((measured, index) => ({ name: NAMES[index] ?? '', ...means(measured) }))
  return (
    <div class="stack">
      <div class="row">
        <p>
          {counted(questionCount, 'question')}, {counted(judging.all.length, 'judgment')}
          {judging.unsaved.length > 0 && `, ${judging.unsaved.length} not saved yet`}
        </p>
        <span class="grow" />
        <ImportQuestions place={place} onDone={judging.reload} />
      </div>
      {questionCount === 0 ? (
        <EmptyState icon="check" title="Nothing is marked as right yet">
          <p>
            Search, and press “Right” at what answers the question. Or import questions with the ids
            of their documents.
          </p>
        </EmptyState>
      ) : (
        <EvaluationForm settings={settings} onChange={setSettings} />
      )}
      {questionCount > 0 && (
        <div class="row">
          <button
            type="button"
            class="button primary"
            disabled={running !== undefined}
            onClick={run}
          >
            {judging.unsaved.length > 0 ? 'Save and evaluate' : 'Evaluate'}
          </button>
          {running && (
            <button type="button" class="button" onClick={() => running.abort()}>
              Stop
            </button>
          )}
        </div>
      )}
      {running && <Progress label={`Searching ${counted(questionCount, 'question')} …`} />}
      {failure && <Failure error={failure} onRetry={run} />}
      {drawn.length > 0 && (
        <div class="grid">
          <Curve title="nDCG@k" lines={drawn.map(({ name, ndcg }) => ({ name, values: ndcg }))} />
          <Curve
            title="recall@k"
            lines={drawn.map(({ name, recall }) => ({ name, values: recall }))}
          />
        </div>
      )}
      {results.length > 0 && <WorstQuestions place={place} results={results} />}
    </div>
  )
}
