/** How well searches find the documents marked as right, with one or two settings. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { may } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { EmptyState, Failure, Loading, Progress } from '../../components/failure.tsx'
import { Check, SelectField } from '../../components/form/field.tsx'
import { FusionField, ModeField, WeightField } from '../../components/form/search-fields.tsx'
import { knownOf, knownProject } from '../../components/known-name.ts'
import { counted } from '../../components/numbers.ts'
import { RecordList } from '../../components/record-list.tsx'
import { useAction, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellDone } from '../../shell/notices.tsx'
import { importQuestions, judgmentsTable, questionTables, useJudgments } from './judgments.ts'
import { MeasureResults, NAMES } from './measure-results.tsx'
import {
  DEFAULT_SETTING,
  type Evaluated,
  type EvaluationSetting,
  evaluated,
  KS,
  type MeasureSettings,
  measureQuery,
  measureSettingsOf,
} from './measuring.ts'

/** The last results, for the way back from a question. */
const KEPT = new Map<string, readonly Evaluated[]>()

export function MeasurePart({ place }: { readonly place: KnowledgeBaseName }) {
  const { query, path, route } = useLocation()
  const judging = useJudgments(place)
  const { settings, k } = measureSettingsOf(query)
  const change = (part: Partial<MeasureSettings>) => {
    route(`${path}${measureQuery({ settings, k, ...part })}`, true)
  }
  const run = useEvaluation(place, { settings, k })
  const questionCount = new Set(judging.all.map(({ question }) => question)).size
  const sql = `SELECT * FROM ${judgmentsTable(place)} ORDER BY question`
  if (judging.failure) return <Failure error={judging.failure} onRetry={judging.reload} />
  if (judging.isLoading) return <Loading what="judgments" />
  return (
    <div class="stack">
      <div class="row">
        <a class="button small" href={path}>
          Back to search
        </a>
        <span class="grow">
          {counted(questionCount, 'question')}, {counted(judging.all.length, 'judgment')}
        </span>
        {questionCount > 0 && (
          <a class="button small quiet" href={addressOf.statement(sql)}>
            Open in SQL
          </a>
        )}
        {may('write') && <ImportQuestions place={place} onDone={judging.reload} />}
      </div>
      {questionCount === 0 ? (
        <EmptyState icon="check" title="Nothing is marked as right yet">
          <p>
            Search, press <strong>Compare</strong>, and mark what answers the question as right. Or
            import questions with the ids of their documents.
          </p>
        </EmptyState>
      ) : (
        <>
          <div class="side-by-side">
            {settings.map((setting, index) => (
              <SettingFields
                key={index}
                name={NAMES[index] ?? ''}
                place={place}
                setting={setting}
                onChange={(next) => change({ settings: settings.with(index, next) })}
              />
            ))}
          </div>
          <div class="row">
            <Check
              checked={settings.length > 1}
              onCheck={(isCompared) => {
                const other = { ...DEFAULT_SETTING, mode: 'vector' } as const
                change({ settings: isCompared ? [...settings, other] : settings.slice(0, 1) })
              }}
            >
              Compare with other settings
            </Check>
            <label class="row small">
              Results that count
              <select
                class="search-count"
                value={k}
                onChange={({ currentTarget }) => change({ k: Number(currentTarget.value) })}
              >
                {KS.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            </label>
            <Button
              look="primary"
              label="Evaluate"
              aria-disabled={run.step !== undefined}
              onClick={run.start}
            />
            {run.step !== undefined && <Button label="Stop" onClick={run.stop} />}
          </div>
        </>
      )}
      {run.step !== undefined && (
        <Progress
          label={`Searching ${counted(questionCount, 'question')} with settings ${NAMES[run.step]}`}
        />
      )}
      {run.failure && <Failure error={run.failure} onRetry={run.start} />}
      {run.results.length > 0 && <MeasureResults place={place} results={run.results} />}
    </div>
  )
}

/** Evaluates one setting after the other: at the same time, each would slow down the other. */
function useEvaluation(place: KnowledgeBaseName, { settings, k }: MeasureSettings) {
  const key = JSON.stringify(place)
  const [results, setResults] = useState(KEPT.get(key) ?? [])
  const [step, setStep] = useState<number>()
  const abort = useRef(new AbortController())
  const { act, failure } = useAction()
  useEffect(() => () => abort.current.abort(), [])
  const start = () => {
    abort.current = new AbortController()
    const { signal } = abort.current
    return act(async () => {
      const all: Evaluated[] = []
      for (const [index, setting] of settings.entries()) {
        setStep(index)
        all.push(await evaluated(place, setting, k, signal))
      }
      KEPT.set(key, all)
      setResults(all)
    }).finally(() => setStep(undefined))
  }
  const isStopped = failure instanceof DOMException && failure.name === 'AbortError'
  return {
    results,
    step,
    start,
    failure: isStopped ? undefined : failure,
    stop: () => abort.current.abort(),
  }
}

function SettingFields(props: {
  readonly name: string
  readonly place: KnowledgeBaseName
  readonly setting: EvaluationSetting
  readonly onChange: (setting: EvaluationSetting) => void
}) {
  const { name, place, setting, onChange } = props
  const { knowledgeBase, mode, alpha, fusion, reranks } = setting
  const change = (part: Partial<EvaluationSetting>) => onChange({ ...setting, ...part })
  const all = knownProject(place.project)?.knowledgeBases ?? []
  const chosen = knownOf('knowledgeBases', { ...place, name: knowledgeBase ?? place.name })
  return (
    <fieldset class="search-settings panel">
      <legend>Settings {name}</legend>
      <ModeField mode={mode} onChoose={(chosen) => change({ mode: chosen })} />
      {mode === 'hybrid' && (
        <>
          <WeightField alpha={alpha} onChange={(weight) => change({ alpha: weight })} />
          <FusionField
            fusion={fusion}
            otherwise="As set for the knowledge base"
            onChoose={(one) => change({ fusion: one })}
          />
        </>
      )}
      {all.length > 1 && (
        <SelectField
          label="Knowledge base"
          hint="One with the same documents, chunked or embedded differently"
          value={knowledgeBase ?? place.name}
          onChoose={(value) => {
            change({ knowledgeBase: value === place.name ? null : value, reranks: false })
          }}
          options={all.map((one) => one.name)}
        />
      )}
      {(chosen?.reranking_model != null || reranks) && (
        <Check checked={reranks} onCheck={(isChecked) => change({ reranks: isChecked })}>
          Rerank
        </Check>
      )}
    </fieldset>
  )
}

interface ImportQuestionsProps {
  readonly place: KnowledgeBaseName
  readonly onDone: () => void
}

/** Adds questions with the ids of their right documents from a table or an uploaded file. */
function ImportQuestions({ place, onDone }: ImportQuestionsProps) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Button look="small" label="Import questions" onClick={() => setIsOpen(true)} />
      {isOpen && (
        <Dialog title="Import questions" onClose={() => setIsOpen(false)}>
          <TableList
            place={place}
            onDone={() => {
              setIsOpen(false)
              onDone()
            }}
          />
        </Dialog>
      )}
    </>
  )
}

function TableList({ place, onDone }: ImportQuestionsProps) {
  const tables = useResource((signal) => questionTables(place, signal), [place])
  const { act, failure, isBusy } = useAction()
  const nothing = (
    <p>
      No table or file has these columns. Upload a CSV, Excel or Parquet file on{' '}
      <a href="/">Home</a>, then come back.
    </p>
  )
  return (
    <>
      <p class="quiet">
        One row for each question and document, with the columns <code>question</code> and{' '}
        <code>document_id</code>, and optionally <code>grade</code>, where 0 is wrong.
      </p>
      {isBusy && <Progress label="Importing questions" />}
      {failure && <Failure error={failure} />}
      <RecordList of={tables} what="files and tables" empty={nothing}>
        {(all) => (
          <ul class="search-values">
            {all.map((one) => (
              <li key={`${one.schema}.${one.table}`}>
                <Button
                  aria-disabled={isBusy}
                  onClick={() =>
                    act(async () => {
                      await importQuestions(place, one)
                      tellDone(`Imported the questions of ${one.table}`)
                      onDone()
                    })
                  }
                >
                  <bdi>
                    {one.schema}.{one.table}
                  </bdi>
                </Button>
              </li>
            ))}
          </ul>
        )}
      </RecordList>
    </>
  )
}
