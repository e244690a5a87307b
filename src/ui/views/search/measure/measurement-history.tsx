/** Measurements that were kept: to see what a change of settings or documents did, days later. */
import { useState } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { may } from '../../../api/session.ts'
import { ConfirmDialog } from '../../../components/dialog.tsx'
import { Failure } from '../../../components/failure.tsx'
import { TextField } from '../../../components/form/field.tsx'
import { shownDuration, shownTime } from '../../../components/numbers.ts'
import { useAction, useResource } from '../../../components/resource.ts'
import { tellDone } from '../../../shell/notices.tsx'
import type { Evaluated, EvaluationSetting } from './evaluation.ts'
import {
  deleteMeasurement,
  type KeptMeasurement,
  keepMeasurements,
  keptMeasurements,
} from './kept-measurements.ts'

interface MeasurementHistoryProps {
  readonly place: KnowledgeBaseName
  /** What was measured now. */
  readonly results: readonly Evaluated[]
  readonly k: number
  readonly onUse: (setting: EvaluationSetting) => void
}

export function MeasurementHistory({ place, results, k, onUse }: MeasurementHistoryProps) {
  const [deleting, setDeleting] = useState<KeptMeasurement>()
  const { data, failure, reload } = useResource(
    (signal) => keptMeasurements(place, signal),
    [place.project, place.name],
  )
  const kept = data ?? []
  const canKeep = results.length > 0 && may('write')
  if (kept.length === 0 && !canKeep && !failure) return null
  return (
    <section class="panel stack" aria-label="Kept measurements">
      <h2>Kept measurements</h2>
      {failure && <Failure error={failure} onRetry={reload} />}
      {canKeep && <Keep place={place} results={results} onKept={reload} />}
      {kept.length > 0 && <KeptTable kept={kept} k={k} onUse={onUse} onDelete={setDeleting} />}
      {deleting && (
        <ConfirmDialog
          title={`Delete the measurement ${deleting.name}?`}
          verb="Delete"
          onConfirm={async () => {
            try {
              await deleteMeasurement(place, deleting)
            } finally {
              reload()
            }
          }}
          onClose={() => setDeleting(undefined)}
        >
          Its figures are gone for everybody. The judgments stay.
        </ConfirmDialog>
      )}
    </section>
  )
}

interface KeepProps {
  readonly place: KnowledgeBaseName
  readonly results: readonly Evaluated[]
  readonly onKept: () => void
}

function Keep({ place, results, onKept }: KeepProps) {
  const [name, setName] = useState('')
  const { act, failure, isBusy } = useAction()
  const keep = () => {
    return act(async () => {
      try {
        await keepMeasurements(place, name.trim() || 'Measurement', results)
      } finally {
        onKept()
      }
      setName('')
      tellDone('The measurement was kept')
    })
  }
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault()
        keep()
      }}
    >
      <TextField
        label="Name"
        hint="What you tried, to know it again"
        value={name}
        maxLength={200}
        onText={setName}
      />
      <button type="submit" class="button" aria-disabled={isBusy}>
        Keep this measurement
      </button>
      {failure && <Failure error={failure} />}
    </form>
  )
}

interface KeptTableProps {
  readonly kept: readonly KeptMeasurement[]
  readonly k: number
  readonly onUse: (setting: EvaluationSetting) => void
  readonly onDelete: (one: KeptMeasurement) => void
}

function KeptTable({ kept, k, onUse, onDelete }: KeptTableProps) {
  return (
    <div class="search-table">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Settings</th>
            {['Questions', `nDCG@${k}`, `recall@${k}`, 'Time'].map((title) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
            <th scope="col">Measured</th>
            <th scope="col">
              <span class="visually-hidden">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {kept.map((one) => (
            <tr key={`${one.measuredAt} ${one.name}`}>
              <td dir="auto">{one.name}</td>
              <td>{inWords(one.setting)}</td>
              <td class="number">{one.questionCount}</td>
              <td class="number">{(one.ndcg[k - 1] ?? 0).toFixed(3)}</td>
              <td class="number">{(one.recall[k - 1] ?? 0).toFixed(3)}</td>
              <td class="number">{shownDuration(one.meanSeconds * 1000)}</td>
              <td>{shownTime(one.measuredAt)}</td>
              <td>
                <button
                  type="button"
                  class="button small"
                  aria-label={`Use the settings of ${one.name}`}
                  onClick={() => onUse(one.setting)}
                >
                  Use
                </button>{' '}
                {may('write') && (
                  <button
                    type="button"
                    class="button small"
                    aria-label={`Delete ${one.name}`}
                    onClick={() => onDelete(one)}
                  >
                    Delete
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function inWords({ knowledgeBase, mode, alpha, fusion, reranks }: EvaluationSetting): string {
  return [
    ...(knowledgeBase === null ? [] : [knowledgeBase]),
    mode,
    ...(mode === 'hybrid' && alpha !== null ? [`weight ${alpha}`] : []),
    ...(mode === 'hybrid' && fusion !== null ? [fusion] : []),
    ...(reranks ? ['reranked'] : []),
  ].join(', ')
}
