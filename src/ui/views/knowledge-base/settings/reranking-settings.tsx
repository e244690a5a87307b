/** The model that puts the best hits of a search in order, or none. */
import { useState } from 'preact/hooks'
import { Failure } from '../../../components/failure.tsx'
import { useAction } from '../../../components/resource.ts'
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
  const { act, failure, isBusy } = useAction()
  const save = useSaving(props, (kb) => kb.reranking_model)
  const isNone = draft.provider === NONE
  return (
    <form
      class="panel stack"
      aria-label="Reranking model"
      onSubmit={(event) => {
        event.preventDefault()
        act(() => save({ reranking_model: isNone ? false : changedModelOf(draft, stored) }))
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
      <Costs
        lines={
          isNone
            ? ['Searches cost no calls beside the embedding of their text']
            : [
                'Nothing is embedded again, and it counts from the next search on',
                'Each search sends its best 50 chunks to this model, and waits for its answer',
                'Where the model fails, the search answers without it and says so',
              ]
        }
      />
      {failure && <Failure error={failure} />}
      <div>
        <button type="submit" class="button primary" aria-disabled={isBusy}>
          Save
        </button>
      </div>
    </form>
  )
}
