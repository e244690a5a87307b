/** A new knowledge base: its name is enough, everything else has a default that fits most documents. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { LANGUAGES } from '../../../domain/language.ts'
import { projects, refreshCatalog } from '../../api/catalog.ts'
import { createKnowledgeBase } from '../../api/knowledge-bases.ts'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { useAction } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellFailed } from '../../shell/notices.tsx'
import { DraftInput, type DraftProps } from './draft-field.tsx'
import { definitionOf, EMPTY_DRAFT, fieldOf } from './knowledge-base-draft.ts'

export function NewKnowledgeBaseView() {
  const { route, query } = useLocation()
  const [draft, setDraft] = useState({ ...EMPTY_DRAFT, project: query.project ?? '' })
  // Some may use other projects alone, which are known a moment after the page.
  const project = draft.project || (projects.value?.[0]?.name ?? 'mindsdb')
  const { act, failure, isBusy } = useAction()
  const field = failure && fieldOf(failure)
  const form: DraftProps = {
    draft,
    set: (change) => setDraft((before) => ({ ...before, ...change })),
    wrong: failure && field && { field, message: failure.message },
  }
  // What is wrong may be far from the button.
  const formElement = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (field) formElement.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [failure])
  const create = async (event: Event) => {
    event.preventDefault()
    await act(async () => {
      const { name, params } = await createKnowledgeBase(project, definitionOf(draft))
      for (const warning of params.warnings ?? []) tellFailed(warning)
      await refreshCatalog()
      route(addressOf.addDocuments(project, name))
    })
  }
  const names = [...new Set([project, ...(projects.value ?? []).map(({ name }) => name)])]
  return (
    <>
      <PageHeader title="New knowledge base" above={[{ label: 'Home', href: '/' }]} />
      <form ref={formElement} class="panel stack add-form" onSubmit={create}>
        <DraftInput
          {...form}
          of="name"
          label="Name"
          hint="The name is enough. Documents are added in the next step."
          isRequired
        />
        {names.length > 1 && (
          <Field label="Project">
            {(control) => (
              <select
                {...control}
                value={project}
                onChange={(event) => form.set({ project: event.currentTarget.value })}
              >
                {names.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            )}
          </Field>
        )}
        <Options {...form} />
        {failure && field === undefined && <Failure error={failure} />}
        <div class="row">
          <button type="submit" class="button primary" aria-disabled={isBusy}>
            Create
          </button>
        </div>
      </form>
    </>
  )
}

/** Where a field in it is wrong it is open. */
function Options(form: DraftProps) {
  const { draft, wrong } = form
  return (
    <details class="add-options" open={wrong !== undefined && wrong.field !== 'name'}>
      <summary>Options</summary>
      <div class="stack">
        <h2>Columns</h2>
        <p class="small quiet">
          Files and pages need none of these. They name what is taken from the rows of tables.
        </p>
        <div class="grid">
          <DraftInput
            {...form}
            of="contentColumns"
            label="Text"
            placeholder="content"
            hint="What is searched. Several by commas."
          />
          <DraftInput
            {...form}
            of="metadataColumns"
            label="Metadata"
            hint="What searches filter by. Empty: every other column."
          />
          <DraftInput {...form} of="idColumn" label="Id" placeholder="id" hint="Of a document." />
        </div>
        <h2>Language and chunks</h2>
        <div class="grid">
          <DraftInput
            {...form}
            of="language"
            label="Language"
            hint="For the search by keywords."
            choices={LANGUAGE_CHOICES}
          />
          <DraftInput
            {...form}
            of="chunkSize"
            label="Characters of a chunk"
            type="number"
            hint="Empty: as many as the model reads."
          />
          <DraftInput
            {...form}
            of="chunkOverlap"
            label="Overlap"
            type="number"
            hint="Characters that two chunks share."
          />
        </div>
        <h2>Embedding model</h2>
        <div class="grid">
          <DraftInput
            {...form}
            of="provider"
            label="Provider"
            choices={PROVIDER_CHOICES}
            hint="The built-in one runs here, without a key."
          />
          {draft.provider !== '' && draft.provider !== 'builtin' && <RemoteModel {...form} />}
        </div>
      </div>
    </details>
  )
}

function RemoteModel(form: DraftProps) {
  return (
    <>
      <DraftInput
        {...form}
        of="model"
        label="Model"
        placeholder="text-embedding-3-small"
        isRequired
      />
      <DraftInput
        {...form}
        of="apiKey"
        label="Key"
        type="password"
        hint="Stored encrypted. Empty: that of the server's settings."
      />
      <DraftInput {...form} of="baseUrl" label="Address" hint="Empty: the provider's usual one." />
    </>
  )
}

const LANGUAGE_CHOICES = [
  { value: '', label: 'Learned from the documents' },
  ...LANGUAGES.map((value) => {
    const label = value === 'none' ? 'None: words as they are' : value
    return { value, label: label.charAt(0).toUpperCase() + label.slice(1) }
  }),
]

const PROVIDER_CHOICES = [
  { value: '', label: "The server's default" },
  { value: 'builtin', label: 'Built in' },
  { value: 'openai', label: 'OpenAI, or a server with its API' },
  { value: 'azure_openai', label: 'Azure OpenAI' },
  { value: 'gemini', label: 'Gemini' },
  { value: 'mistral', label: 'Mistral' },
  { value: 'openrouter', label: 'OpenRouter' },
  { value: 'together', label: 'Together' },
  { value: 'ollama', label: 'Ollama' },
  { value: 'lmstudio', label: 'LM Studio' },
  { value: 'vllm', label: 'vLLM' },
  { value: 'llamacpp', label: 'llama.cpp' },
  { value: 'localai', label: 'LocalAI' },
  { value: 'litellm', label: 'LiteLLM' },
]
