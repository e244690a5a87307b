/** A change to another embedding model that goes on: how far, how fast, how long still. It can be cancelled. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { addressOfApi } from '../../../api/documents.ts'
import { request } from '../../../api/request.ts'
import { Button } from '../../../components/button.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Progress } from '../../../components/progress.tsx'
import { useAction } from '../../../components/resource.ts'
import { counted, shownCount, shownDuration } from '../../../format/numbers.ts'
import { tellDone } from '../../../shell/notices.tsx'
import type { SettingsPartProps } from './saving.ts'

export function ReembeddingProgress({ of, kb, onSaved }: SettingsPartProps) {
  const { reembedding } = kb.params
  const { act, failure, isBusy } = useAction()
  const rate = useRate(reembedding?.done)
  if (reembedding === undefined) return null
  const { done = 0, total } = reembedding
  const { provider, model_name } = kb.embedding_model
  const cancel = () =>
    act(async () => {
      // Naming the model in force ends the change.
      const json = { knowledge_base: { embedding_model: { provider, model_name } } }
      await request(addressOfApi(of), { method: 'PUT', json })
      tellDone(`${model_name} stays`)
      onSaved()
    })
  const far = total === undefined ? 'counting the chunks' : partOf(done, total)
  const speed =
    rate === undefined || total === undefined
      ? ''
      : ` · ${shownCount(Math.round(rate))} a second · ${shownDuration(((total - done) / rate) * 1000)} left`
  return (
    <div class="stack" role="status">
      <p>
        Changing to <strong dir="auto">{reembedding.model_name}</strong>. Searches use{' '}
        <bdi>{model_name}</bdi> until it is done.
      </p>
      <Progress label={`${far}${speed}`} done={done} total={total} />
      {reembedding.error && (
        <p class="bad" dir="auto">
          {reembedding.error}. It is tried again by itself.
        </p>
      )}
      {failure && <Failure error={failure} />}
      <div>
        <Button
          look="small"
          icon="stop"
          label="Cancel the change"
          aria-disabled={isBusy}
          onClick={cancel}
        />
      </div>
    </div>
  )
}

function partOf(done: number, total: number): string {
  return `${shownCount(done)} of ${counted(total, 'chunk')}`
}

interface Sample {
  readonly done: number
  readonly atMs: number
}

/** Over the last samples; undefined: nothing moved yet. */
const SAMPLES_MAX = 20

function useRate(done: number | undefined): number | undefined {
  const samples = useRef<readonly Sample[]>([])
  const [rate, setRate] = useState<number>()
  useEffect(() => {
    if (done === undefined) return
    const last = samples.current.at(-1)
    // It began again, with another model.
    if (last !== undefined && done < last.done) samples.current = []
    samples.current = [...samples.current, { done, atMs: performance.now() }].slice(-SAMPLES_MAX)
    const [first] = samples.current
    const now = samples.current.at(-1)
    if (first === undefined || now === undefined || now.done === first.done) return
    setRate(((now.done - first.done) / (now.atMs - first.atMs)) * 1000)
  }, [done])
  return rate
}
