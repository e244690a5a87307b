/** Settings of the embedding model and the reranking model. */

import { useState } from 'preact/hooks'
import { RERANK_CANDIDATES, RERANK_CANDIDATES_MAX } from '../../../core/domain/knowledge-base.ts'
import { quote } from '../../../core/domain/names.ts'
import { addressOfApi } from '../../api/documents.ts'
import type { KnowledgeBase } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { runSql } from '../../api/sql.ts'
import { ActionButton } from '../../components/dialog.tsx'
import { Progress } from '../../components/failure.tsx'
import type { InputField, Values } from '../../components/form/form.tsx'
import {
  EMBEDDING_PROVIDERS,
  KEPT_KEY,
  modelFields,
  modelOf,
  PLAIN_PROVIDERS,
} from '../../components/form/search-fields.tsx'
import { counted, shownBytes, shownCount } from '../../components/numbers.ts'
import { useResource } from '../../components/resource.ts'
import { tellDone } from '../../shell/notices.tsx'
import { type SectionProps, SettingsSection, useSaving } from './settings-section.tsx'

/** The API shows a stored secret like this. Sending it back keeps the secret. */
const MASKED = '******'
/** Clears the key, because it belongs to the provider that it was entered for. */
function changedProvider(before: Values, next: Values): Values {
  return before.provider === next.provider ? next : { provider: next.provider ?? '' }
}

function valuesOf(stored: KnowledgeBase['reranking_model'] | undefined): Values {
  const { provider = '', model_name: model = '', base_url: url = '' } = stored ?? {}
  return PLAIN_PROVIDERS.has(provider) ? { provider } : { provider, model, url }
}

export function EmbeddingSettings(props: SectionProps) {
  const { of, kb, chunks } = props
  const stored = valuesOf(kb.embedding_model)
  const [values, setValues] = useState(stored)
  const save = useSaving(props, (one) => [one.embedding_model, one.params.reembedding?.model_name])
  const bytes = useResource(
    async (signal) => {
      const table = `${quote(of.project)}.${quote(of.name)}`
      const sql = `SELECT coalesce(sum(strlen(chunk_content)), 0) FROM ${table}`
      return Number((await runSql({ sql, project: of.project, signal })).rows[0]?.[0])
    },
    ['bytes', of, kb.id],
  )
  const isSame = stored.provider === values.provider && stored.model === values.model
  return (
    <SettingsSection
      title="Embedding model"
      stored={stored}
      values={values}
      fields={modelFields(values, EMBEDDING_PROVIDERS, 'text-embedding-3-small', KEPT_KEY)}
      onChange={(next) => setValues(changedProvider(values, next))}
      verb={isSame || chunks === 0 ? 'Save' : `Change and embed ${counted(chunks, 'chunk')} again`}
      costs={isSame ? ['Nothing is embedded again'] : costsOf(chunks, bytes.data ?? 0, values)}
      onSave={() => save({ embedding_model: modelOf(values) })}
    >
      <p>
        <bdi>{kb.embedding_model.model_name}</bdi>{' '}
        <span class="quiet">of {kb.embedding_model.provider}</span>
      </p>
      <ReembeddingProgress {...props} />
    </SettingsSection>
  )
}

const CALL_TEXTS_MAX = 256
const CALL_BYTES_MAX = 262_144
/** For Latin text; other scripts have more bytes per token. */
const BYTES_PER_TOKEN = 4

function costsOf(chunks: number, bytes: number, { provider }: Values): readonly string[] {
  if (chunks === 0) return ['There are no chunks yet, so the model changes at once']
  const tokens = Math.max(1, Math.round(bytes / BYTES_PER_TOKEN))
  const calls = Math.max(Math.ceil(chunks / CALL_TEXTS_MAX), Math.ceil(bytes / CALL_BYTES_MAX))
  return [
    `${counted(chunks, 'chunk')} are embedded again: ${shownBytes(bytes)} of text, about ${shownCount(tokens)} tokens`,
    provider === 'builtin'
      ? 'It runs on this server, without calls to a provider'
      : `About ${counted(calls, 'call')} to the provider, at its price per token`,
    'Searches and inserts use the current model until every chunk has its new vector; both sets of vectors stay on disk until then',
  ]
}

function ReembeddingProgress({ of, kb, onSaved }: SectionProps) {
  const { reembedding } = kb.params
  if (reembedding === undefined) return null
  const { done = 0, total } = reembedding
  const { provider, model_name } = kb.embedding_model
  const cancel = async () => {
    // Naming the current model cancels the change.
    const json = { knowledge_base: { embedding_model: { provider, model_name } } }
    await request(addressOfApi(of), { method: 'PUT', json })
    tellDone(`The model is still ${model_name}`)
    onSaved()
  }
  return (
    <div class="stack" role="status">
      <p>
        Changing to <strong>{reembedding.model_name}</strong>. Searches use <bdi>{model_name}</bdi>{' '}
        until it is done.
      </p>
      <Progress
        label={
          total === undefined
            ? 'Counting the chunks'
            : `${shownCount(done)} of ${counted(total, 'chunk')}`
        }
        done={done}
        total={total}
      />
      {reembedding.error && (
        <p class="bad">{reembedding.error}. The server will try again automatically.</p>
      )}
      <div>
        <ActionButton look="small" icon="stop" label="Cancel the change" work={cancel} />
      </div>
    </div>
  )
}

const RERANKING_PROVIDERS = [
  ['', 'None'],
  ['openai', 'A chat model: OpenAI, or a server with its API'],
  ['cohere', 'Cohere'],
  ['jina', 'Jina'],
  ['vllm', 'vLLM'],
  ['tei', 'text-embeddings-inference'],
  ['rerank', 'Another server with /rerank'],
] as const

/** The model that reorders the best results of a search, if any. */
export function RerankingSettings(props: SectionProps) {
  const model = props.kb.reranking_model
  const stored = { ...valuesOf(model), candidates: storedCandidates(model) }
  const [values, setValues] = useState<Values>(stored)
  const save = useSaving(props, (kb) => kb.reranking_model)
  const isNone = values.provider === ''
  const candidates: InputField = {
    name: 'candidates',
    label: 'Chunks to read per search',
    kind: 'number',
    min: 1,
    max: RERANK_CANDIDATES_MAX,
    hint: `Leave empty for ${RERANK_CANDIDATES}`,
    empty: String(RERANK_CANDIDATES),
  }
  const count = Number(values.candidates) || RERANK_CANDIDATES
  return (
    <SettingsSection
      title="Reranking model"
      stored={stored}
      values={values}
      fields={[
        ...modelFields(values, RERANKING_PROVIDERS, 'rerank-v3.5', KEPT_KEY),
        ...(isNone ? [] : [candidates]),
      ]}
      onChange={(next) => setValues(changedProvider(values, next))}
      costs={
        isNone
          ? ['Searches no longer call a model to rerank']
          : [
              `Each search sends its best ${counted(count, 'chunk')} to this model and waits for it`,
              'If the model fails, the search returns results without it and shows a warning',
            ]
      }
      onSave={() =>
        save({
          reranking_model: isNone
            ? false
            : { ...changedModel(values, model), ...changedCandidates(values, stored.candidates) },
        })
      }
    />
  )
}

/** The typed model, plus stored options without a field, and the stored key for its address. */
function changedModel(values: Values, stored: KnowledgeBase['reranking_model']): object {
  if (stored === null || stored.provider !== values.provider) return modelOf(values)
  const { model_name: _name, api_key: key, base_url: url, ...options } = stored
  const isSameAddress = originOf(url ?? '') === originOf((values.url ?? '').trim())
  const kept = Object.entries({ ...options, ...(key === '' ? {} : { api_key: MASKED }) })
  return {
    ...Object.fromEntries(kept.filter(([, value]) => isSameAddress || value !== MASKED)),
    // An empty name, because a missing one would keep the stored model's name.
    model_name: '',
    ...modelOf(values),
  }
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? ''
}

function storedCandidates(stored: KnowledgeBase['reranking_model']): string {
  const known: unknown = stored === null ? undefined : Reflect.get(stored, 'candidates')
  return typeof known === 'number' ? String(known) : ''
}

/** For an emptied field: a missing value would keep the stored number. */
function changedCandidates({ candidates = '' }: Values, stored: string): object {
  if (candidates !== '') return { candidates: Number(candidates) }
  return stored === '' ? {} : { candidates: RERANK_CANDIDATES }
}
