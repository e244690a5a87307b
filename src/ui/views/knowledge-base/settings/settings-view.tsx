/** What a knowledge base is made with: chunking with a preview, how it is searched, and its end. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { refreshCatalog } from '../../../api/catalog.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { Dialog } from '../../../components/dialog.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Field } from '../../../components/field.tsx'
import { Icon } from '../../../components/icon.tsx'
import { Loading, Progress } from '../../../components/progress.tsx'
import { useAction, useResource } from '../../../components/resource.ts'
import { tellDone } from '../../../shell/notices.tsx'
import { type KnowledgeBaseAddress, KnowledgeBaseFrame } from '../knowledge-base-frame.tsx'
import { ChunkingSettings } from './chunking-settings.tsx'

export function KnowledgeBaseSettingsView({ project, name }: KnowledgeBaseAddress) {
  const at = path`/api/projects/${project}/knowledge_bases/${name}`
  const kb = useResource((signal) => request<KnowledgeBase>(at, { signal }), [at])
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      {kb.failure && <Failure error={kb.failure} onRetry={kb.reload} />}
      {kb.isLoading && kb.data === undefined && <Loading what="the settings" />}
      {kb.data && <Settings key={at} at={at} project={project} read={kb.data} />}
    </KnowledgeBaseFrame>
  )
}

interface SettingsProps {
  readonly at: string
  readonly project: string
  readonly read: KnowledgeBase
}

function Settings({ at, project, read }: SettingsProps) {
  /** What the forms began with. It stays while it is read again: what is typed is not lost by that. */
  const [base, setBase] = useState(read)
  const save = async (changes: object) => setBase(await changed(at, base, changes))
  return (
    <>
      <Reembedding kb={read} />
      {(read.params.warnings ?? []).map((warning) => (
        <p key={warning} class="badge warn">
          {warning}
        </p>
      ))}
      <Facts kb={read} />
      <ChunkingSettings project={project} kb={base} onSave={save} />
      <SearchSettings kb={base} onSave={save} />
      <Deletion at={at} name={read.name} />
    </>
  )
}

/** @returns it as it is then. @throws ApiError; Error where another window has changed it since it was read */
async function changed(at: string, before: KnowledgeBase, changes: object): Promise<KnowledgeBase> {
  const now = await request<KnowledgeBase>(at)
  if (now.updated_at !== before.updated_at) {
    throw new Error('It was changed elsewhere since you opened it. Load the page again to see how')
  }
  await request(at, { method: 'PUT', json: { knowledge_base: changes } })
  tellDone('Saved')
  return request<KnowledgeBase>(at)
}

function Reembedding({ kb }: { readonly kb: KnowledgeBase }) {
  const { reembedding } = kb.params
  if (reembedding === undefined) return null
  return (
    <section class="panel stack">
      <Progress
        label={`Changing to ${reembedding.model_name}: ${reembedding.done ?? 0} of ${reembedding.total ?? '?'} chunks are embedded again`}
        done={reembedding.done}
        total={reembedding.total}
      />
      {reembedding.error && <p class="bad">{reembedding.error}</p>}
    </section>
  )
}

function Facts({ kb }: { readonly kb: KnowledgeBase }) {
  const { embedding_model: embedding, reranking_model: reranking } = kb
  const facts = [
    ['Embedding model', `${embedding.provider}, ${embedding.model_name}`],
    [
      'Reranking model',
      reranking === null ? 'none' : `${reranking.provider}, ${reranking.model_name}`,
    ],
    ['Content', kb.content_columns.join(', ')],
    ['Id', kb.id_column],
    [
      'Metadata',
      kb.metadata_columns.map((one) => `${one} ${kb.metadata_types[one] ?? ''}`).join(', '),
    ],
  ]
  return (
    <section class="panel">
      <dl class="kb-facts">
        {facts.map(([term, value]) => (
          <div key={term}>
            <dt class="quiet">{term}</dt>
            <dd dir="auto">{value || 'none'}</dd>
          </div>
        ))}
      </dl>
      <p class="small quiet">
        Models are changed in SQL: <code>ALTER KNOWLEDGE_BASE … USING embedding_model = …</code>.
        All chunks are then embedded again in the background, while searches go on.
      </p>
    </section>
  )
}

interface SettingsPartProps {
  readonly kb: KnowledgeBase
  readonly onSave: (changes: object) => Promise<void>
}

function SearchSettings({ kb, onSave }: SettingsPartProps) {
  const { language = 'english', hybrid_search: isHybrid = false } = kb.params
  const [words, setWords] = useState(language)
  const [hybrid, setHybrid] = useState(isHybrid)
  const [alpha, setAlpha] = useState(kb.params.hybrid_search_alpha ?? 0.5)
  const { act, failure } = useAction()
  const save = async (event: SubmitEvent) => {
    event.preventDefault()
    await act(async () => {
      await onSave({
        params: { language: words, hybrid_search: hybrid, hybrid_search_alpha: alpha },
      })
    })
  }
  return (
    <form class="panel stack" onSubmit={save}>
      <h2>Searches</h2>
      <label class="check">
        <input
          type="checkbox"
          checked={hybrid}
          onChange={(event) => setHybrid(event.currentTarget.checked)}
        />
        By meaning and keywords, unless a search says otherwise. Costs nothing to change
      </label>
      <Field
        label={`Weight of the meaning: ${alpha.toFixed(2)}`}
        hint="0: keywords alone, 1: meaning alone"
      >
        {(control) => (
          <input
            {...control}
            type="range"
            min="0"
            max="1"
            step="0.05"
            value={alpha}
            onInput={(event) => setAlpha(Number(event.currentTarget.value))}
          />
        )}
      </Field>
      <Field
        label="Language of the content"
        hint="A change builds the keyword index again, in seconds"
      >
        {(control) => (
          <input
            {...control}
            value={words}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
        )}
      </Field>
      {failure && <Failure error={failure} />}
      <div>
        <button type="submit" class="button primary">
          Save
        </button>
      </div>
    </form>
  )
}

function Deletion({ at, name }: { readonly at: string; readonly name: string }) {
  const { route } = useLocation()
  const [isOpen, setIsOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const { act, failure } = useAction()
  const remove = async (event: SubmitEvent) => {
    event.preventDefault()
    await act(async () => {
      await request(at, { method: 'DELETE' })
      await refreshCatalog()
      tellDone(`${name} is deleted`)
      route('/')
    })
  }
  return (
    <section class="panel stack">
      <h2>Export or delete</h2>
      <div class="row">
        <a class="button" href={`${at}/export`} download>
          <Icon name="download" />
          Export with its vectors
        </a>
        <button type="button" class="button" onClick={() => setIsOpen(true)}>
          <Icon name="trash" />
          Delete the knowledge base
        </button>
      </div>
      {isOpen && (
        <Dialog title={`Delete ${name}?`} onClose={() => setIsOpen(false)} staysOnClickBeside>
          <form class="stack" onSubmit={remove}>
            <p>
              All its documents, chunks and vectors are gone for good. Agents that read it stay.
            </p>
            <Field label={`Type ${name} to delete it`}>
              {(control) => (
                <input
                  {...control}
                  value={typed}
                  autocomplete="off"
                  onInput={(event) => setTyped(event.currentTarget.value)}
                />
              )}
            </Field>
            {failure && <Failure error={failure} />}
            <button type="submit" class="button danger" disabled={typed !== name}>
              Delete
            </button>
          </form>
        </Dialog>
      )}
    </section>
  )
}
