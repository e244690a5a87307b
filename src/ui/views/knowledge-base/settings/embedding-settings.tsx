/** The embedding model: which it is, another one with what that costs, and the change as it goes on. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { addressOfApi } from '../../../api/documents.ts'
import { request } from '../../../api/request.ts'
import { Button } from '../../../components/button.tsx'
import { ConfirmDialog } from '../../../components/dialog.tsx'
import { Failure, Loading, Progress } from '../../../components/failure.tsx'
import { EMBEDDING_PROVIDERS } from '../../../components/form/search-fields.tsx'
import { counted, shownCount, shownDuration } from '../../../components/numbers.ts'
import { useAction, useResource } from '../../../components/resource.ts'
import { tellDone } from '../../../shell/notices.tsx'
import { costLines, readStoredChunks } from './embedding-cost.ts'
import { EMPTY_MODEL, ModelInputs, modelOf } from './model-inputs.tsx'
import { type SettingsPartProps, useSaving } from './saving.ts'

const PLAIN = new Set(['builtin'])

export function EmbeddingSettings(props: SettingsPartProps) {
  const { kb } = props
  const { provider, model_name: model } = kb.embedding_model
  const [isOpen, setIsOpen] = useState(false)
  return (
    <section class="panel stack" aria-label="Embedding model">
      <div class="row">
        <h2 class="grow">Embedding model</h2>
        {!isOpen && (
          <Button look="small" label="Change the embedding model" onClick={() => setIsOpen(true)} />
        )}
      </div>
      <p>
        <bdi>{model}</bdi> <span class="quiet">of {provider}</span>
      </p>
      <ReembeddingProgress {...props} />
      {isOpen && <ChangeForm {...props} onClose={() => setIsOpen(false)} />}
    </section>
  )
}

function ChangeForm({ onClose, ...props }: SettingsPartProps & { readonly onClose: () => void }) {
  const { of, kb } = props
  const { provider, base_url: baseUrl = '' } = kb.embedding_model
  const [draft, setDraft] = useState({ ...EMPTY_MODEL, provider, baseUrl })
  const [isAsking, setIsAsking] = useState(false)
  const save = useSaving(props, (one) => [one.embedding_model, one.params.reembedding?.model_name])
  const cost = useResource((signal) => readStoredChunks(of, kb, signal), ['cost', of, kb.id])
  const chunks = cost.data?.chunks ?? 0
  const known = modelOf(draft)
  const isSame =
    draft.provider === provider &&
    (PLAIN.has(provider) || known.model_name === kb.embedding_model.model_name)
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        setIsAsking(true)
      }}
    >
      <ModelInputs
        draft={draft}
        providers={EMBEDDING_PROVIDERS}
        example="text-embedding-3-small"
        plain={PLAIN}
        onChange={setDraft}
      />
      {cost.failure && <Failure error={cost.failure} onRetry={cost.reload} />}
      {cost.isLoading && !cost.data && <Loading what="what it costs" />}
      {cost.data && !isSame && <Costs lines={costLines(cost.data, draft.provider)} />}
      {isSame && (
        <p class="small quiet">
          This is the current model. A new key or address takes effect at once, and nothing is
          embedded again.
        </p>
      )}
      <div class="row">
        <Button
          type="submit"
          look="primary"
          label={
            isSame || chunks === 0 ? 'Save' : `Change and embed ${counted(chunks, 'chunk')} again`
          }
        />
        <Button label="Cancel" onClick={onClose} />
      </div>
      {isAsking && (
        <ConfirmDialog
          title={isSame ? 'Save this model?' : `Change to ${known.model_name || draft.provider}?`}
          verb={isSame ? 'Save' : 'Change it'}
          onConfirm={async () => {
            await save({ embedding_model: known })
            onClose()
          }}
          onClose={() => setIsAsking(false)}
        >
          The model is tried once now; where it does not answer, nothing changes.
          {!isSame && chunks > 0 && ' You can cancel the change while it runs.'}
        </ConfirmDialog>
      )}
    </form>
  )
}

export function Costs({ lines }: { readonly lines: readonly string[] }) {
  return (
    <div class="kb-costs small" role="note" aria-label="What it costs">
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  )
}

/** A change to another embedding model that goes on: how far, how fast, how long still. It can be cancelled. */
function ReembeddingProgress({ of, kb, onSaved }: SettingsPartProps) {
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

/** Over the last samples; undefined: nothing moved yet. */
const SAMPLES_MAX = 20

function useRate(done: number | undefined): number | undefined {
  const samples = useRef<readonly { readonly done: number; readonly atMs: number }[]>([])
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
