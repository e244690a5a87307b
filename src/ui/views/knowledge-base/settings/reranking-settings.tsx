/** The model that puts the best hits of a search in order, or none. */
import { useState } from 'preact/hooks'
import { RERANK_CANDIDATES, RERANK_CANDIDATES_MAX } from '../../../../domain/knowledge-base.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { Button } from '../../../components/button.tsx'
import { Failure } from '../../../components/failure.tsx'
import { TextField } from '../../../components/form/text-field.tsx'
import { useAction } from '../../../components/resource.ts'
import { counted } from '../../../format/numbers.ts'
import { Costs } from './embedding-settings.tsx'
import { changedModelOf, EMPTY_MODEL, ModelInputs } from './model-inputs.tsx'
import { type SettingsPartProps, useSaving } from './saving.ts'

const NONE = ''
const PROVIDERS = [
  [NONE, 'None'],
  ['openai', 'A chat model: OpenAI, or a server with its API'],
  ['cohere', 'Cohere'],
  ['jina', 'Jina'],
  ['vllm', 'vLLM'],
  ['tei', 'text-embeddings-inference'],
  ['rerank', 'Another server with /rerank'],
] as const
const PLAIN = new Set([NONE])

export function RerankingSettings(props: SettingsPartProps) {
  const stored = props.kb.reranking_model
  const [draft, setDraft] = useState({
    ...EMPTY_MODEL,
    provider: stored?.provider ?? NONE,
    model: stored?.model_name ?? '',
    baseUrl: stored?.base_url ?? '',
  })
  const [candidates, setCandidates] = useState(storedCandidates(stored))
  const { act, failure, isBusy } = useAction()
  const save = useSaving(props, (kb) => kb.reranking_model)
  const isNone = draft.provider === NONE
  return (
    <form
      class="panel stack"
      aria-label="Reranking model"
      onSubmit={(event) => {
        event.preventDefault()
        const model = { ...changedModelOf(draft, stored), ...candidatesOf(candidates, stored) }
        act(() => save({ reranking_model: isNone ? false : model }))
      }}
    >
      <h2>Reranking model</h2>
      <ModelInputs
        draft={draft}
        providers={PROVIDERS}
        example="rerank-v3.5"
        plain={PLAIN}
        onChange={setDraft}
      />
      {!isNone && (
        <TextField
          label="Chunks that it reads"
          hint={`Of each search, the best. Empty: ${RERANK_CANDIDATES}`}
          class="kb-short-field"
          type="number"
          min="1"
          max={RERANK_CANDIDATES_MAX}
          value={candidates}
          onText={setCandidates}
        />
      )}
      <Costs
        lines={
          isNone
            ? ['Searches cost no calls beyond embedding their text']
            : [
                'Nothing is embedded again. It applies from the next search on',
                `Each search sends its best ${counted(Number(candidates) || RERANK_CANDIDATES, 'chunk')} to this model, and waits for its answer`,
                'If the model fails, the search answers without it and says so',
              ]
        }
      />
      {failure && <Failure error={failure} />}
      <div>
        <Button type="submit" look="primary" label="Save" aria-disabled={isBusy} />
      </div>
    </form>
  )
}

/** Empty: it is not set. */
function storedCandidates(stored: KnowledgeBase['reranking_model']): string {
  const known: unknown = stored === null ? undefined : Object.entries(stored).find(isCount)?.[1]
  return typeof known === 'number' ? String(known) : ''
}

function isCount([name]: readonly [string, unknown]): boolean {
  return name === 'candidates'
}

/** Where it was set and is empty now, the server's own number is sent: left out, the stored one would stay. */
function candidatesOf(typed: string, stored: KnowledgeBase['reranking_model']): object {
  if (typed !== '') return { candidates: Number(typed) }
  return storedCandidates(stored) === '' ? {} : { candidates: RERANK_CANDIDATES }
}
