/** The settings of a knowledge base: each part is saved by itself, and says what its change costs. */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { DEFAULT_FUSION } from '../../../../core/domain/hybrid-search.ts'
import { RERANK_CANDIDATES, RERANK_CANDIDATES_MAX } from '../../../../core/domain/knowledge-base.ts'
import { refreshCatalog } from '../../../api/catalog.ts'
import { documentChanges } from '../../../api/documents.ts'
import {
  countContents,
  getKnowledgeBase,
  type KnowledgeBaseName,
} from '../../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { Button, Icon } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { Check, SelectField, TextField } from '../../../components/form/field.tsx'
import { Form } from '../../../components/form/form.tsx'
import {
  DETECTED_LANGUAGE,
  FusionField,
  LANGUAGE_CHOICES,
  languageName,
  WeightField,
} from '../../../components/form/search-fields.tsx'
import { counted } from '../../../components/numbers.ts'
import { Loaded } from '../../../components/record-list.tsx'
import { usePolling, useResource } from '../../../components/resource.ts'
import { tellDone } from '../../../shell/notices.tsx'
import { KnowledgeBaseFrame } from '../knowledge-base-frame.tsx'
import { ChunkingSettings } from './chunking-settings.tsx'
import { Costs, EmbeddingSettings } from './embedding-settings.tsx'
import { IndexSettings } from './index-settings.tsx'
import { changedModelOf, EMPTY_MODEL, ModelInputs } from './model-inputs.tsx'
import { type SettingsPartProps, useSaving } from './saving.ts'

/** While something is made again in the background. */
const ASK_AGAIN_MS = 1000

export function KnowledgeBaseSettingsView({ project, name }: KnowledgeBaseName) {
  const of = { project, name }
  const read = useResource(
    async (signal) => {
      const [kb, { documents, chunks }] = await Promise.all([
        getKnowledgeBase(project, name, signal),
        countContents(project, name, signal),
      ])
      return { kb, documents, chunks }
    },
    [project, name],
  )
  const { data, isLoading, reload } = read
  const changing = data?.kb.params.reembedding ?? data?.kb.params.keyword_index
  usePolling(() => {
    if (changing !== undefined && !isLoading) reload()
  }, ASK_AGAIN_MS)
  // The line below the name says so as well.
  useEffect(() => {
    documentChanges.value += 1
  }, [data?.kb.updated_at])
  const saved = () => {
    documentChanges.value += 1
    reload()
  }
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <Loaded of={read} what="the settings">
        {({ kb, documents, chunks }) => (
          <div key={`${project}/${name}`} class="stack">
            {(kb.params.warnings ?? []).map((warning) => (
              <p key={warning} class="kb-warning small">
                {warning}
              </p>
            ))}
            <EmbeddingSettings of={of} kb={kb} onSaved={saved} />
            <IndexSettings of={of} chunks={chunks} onSaved={saved} />
            <RerankingSettings of={of} kb={kb} onSaved={saved} />
            <SearchSettings of={of} kb={kb} chunks={chunks} onSaved={saved} />
            <ChunkingSettings of={of} kb={kb} documents={documents} onSaved={saved} />
            <Columns kb={kb} />
            <Deletion at={path`/api/projects/${project}/knowledge_bases/${name}`} name={name} />
          </div>
        )}
      </Loaded>
    </KnowledgeBaseFrame>
  )
}

function Columns({ kb }: { readonly kb: KnowledgeBase }) {
  const facts = [
    ['Content', kb.content_columns.join(', ')],
    ['Id', kb.id_column],
    [
      'Metadata',
      kb.metadata_columns.map((one) => `${one} ${kb.metadata_types[one] ?? ''}`).join(', '),
    ],
  ]
  return (
    <section class="panel stack" aria-label="Columns">
      <h2>Columns</h2>
      <dl class="kb-facts">
        {facts.map(([term, value]) => (
          <div key={term}>
            <dt class="quiet">{term}</dt>
            <dd dir="auto">{value || 'none'}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

/** The knowledge base out into a file, or gone. */
function Deletion({ at, name }: { readonly at: string; readonly name: string }) {
  const { route } = useLocation()
  const [isOpen, setIsOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const remove = async () => {
    await request(at, { method: 'DELETE' })
    tellDone(`Deleted ${name}`)
    route('/')
    // It is gone, whether the list of all can be read now or not.
    await refreshCatalog().catch(() => {})
  }
  return (
    <section class="panel stack">
      <h2>Export or delete</h2>
      <div class="row">
        <a class="button" href={`${at}/export`} download>
          <Icon name="download" />
          Export with its vectors
        </a>
        <Button icon="trash" label="Delete the knowledge base" onClick={() => setIsOpen(true)} />
      </div>
      {isOpen && (
        <Dialog title={`Delete ${name}?`} onClose={() => setIsOpen(false)} staysOnClickBeside>
          <Form verb="Delete" look="danger" isIncomplete={typed !== name} onSend={remove}>
            <p>
              All its documents, chunks and vectors are deleted for good. Agents that read it stay.
            </p>
            <TextField
              label={`Type ${name} to delete it`}
              value={typed}
              autocomplete="off"
              onText={setTyped}
            />
          </Form>
        </Dialog>
      )}
    </section>
  )
}

/** What a save replaces. */
function searchPart({ params }: KnowledgeBase) {
  const { language, hybrid_search, hybrid_search_alpha, hybrid_search_fusion } = params
  return [language, hybrid_search, hybrid_search_alpha, hybrid_search_fusion]
}

/** What searches of a knowledge base do unless they say otherwise, and the language of its words. */
function SearchSettings(props: SettingsPartProps & { readonly chunks: number }) {
  const { params } = props.kb
  const stored = params.language ?? ''
  const [language, setLanguage] = useState(stored)
  const [isHybrid, setIsHybrid] = useState(params.hybrid_search ?? false)
  const storedAlpha = params.hybrid_search_alpha ?? null
  const storedFusion = params.hybrid_search_fusion ?? DEFAULT_FUSION
  const [alpha, setAlpha] = useState(storedAlpha)
  const [fusion, setFusion] = useState(storedFusion)
  const save = useSaving(props, searchPart)
  // Defaults of the server stay its own: only what differs from what is stored now is sent.
  const send = () => {
    return save(({ params: now }) => ({
      ...(language === '' || language === now.language ? {} : { language }),
      hybrid_search: isHybrid,
      ...(alpha === (now.hybrid_search_alpha ?? null) ? {} : { hybrid_search_alpha: alpha }),
      ...(fusion === (now.hybrid_search_fusion ?? DEFAULT_FUSION)
        ? {}
        : { hybrid_search_fusion: fusion }),
    }))
  }
  const isOther = language !== '' && language !== stored
  return (
    <Form class="panel stack" aria-label="Searches" verb="Save" onSend={send}>
      <h2>Searches</h2>
      <Check checked={isHybrid} onCheck={setIsHybrid}>
        By meaning and keywords, unless a search says otherwise
      </Check>
      <div class="grid">
        <WeightField alpha={alpha} onChange={setAlpha} />
        <FusionField fusion={fusion} onChoose={(chosen) => setFusion(chosen ?? storedFusion)} />
        <SelectField
          label="Language of the content"
          hint="For keyword search"
          value={language}
          onChoose={setLanguage}
          options={stored === '' ? [DETECTED_LANGUAGE, ...LANGUAGE_CHOICES] : LANGUAGE_CHOICES}
        />
      </div>
      {params.keyword_index && (
        <p class="small" role="status">
          The keyword index is made again in {languageName(params.keyword_index.next_language)}.
          Searches use that in {languageName(params.keyword_index.language)} until it is done.
        </p>
      )}
      <Costs
        lines={[
          isOther
            ? `The keyword index of ${counted(props.chunks, 'chunk')} is rebuilt in the background, without calls. Searches use the current one meanwhile`
            : 'Costs nothing: applies from the next search on',
        ]}
      />
    </Form>
  )
}

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

/** The model that puts the best hits of a search in order, or none. */
function RerankingSettings(props: SettingsPartProps) {
  const stored = props.kb.reranking_model
  const [draft, setDraft] = useState({
    ...EMPTY_MODEL,
    provider: stored?.provider ?? NONE,
    model: stored?.model_name ?? '',
    baseUrl: stored?.base_url ?? '',
  })
  const [candidates, setCandidates] = useState(storedCandidates(stored))
  const save = useSaving(props, (kb) => kb.reranking_model)
  const isNone = draft.provider === NONE
  const send = () => {
    const model = { ...changedModelOf(draft, stored), ...candidatesOf(candidates, stored) }
    return save({ reranking_model: isNone ? false : model })
  }
  return (
    <Form class="panel stack" aria-label="Reranking model" verb="Save" onSend={send}>
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
    </Form>
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
