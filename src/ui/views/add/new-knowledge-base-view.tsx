/** A new knowledge base: its name is enough, everything else has a default that fits most documents. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { projects, refreshCatalog } from '../../api/catalog.ts'
import { createKnowledgeBase } from '../../api/knowledge-bases.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { EMBEDDING_PROVIDERS } from '../../components/form/embedding-providers.ts'
import { DETECTED_LANGUAGE, LANGUAGE_CHOICES } from '../../components/form/language-choices.ts'
import { SelectField } from '../../components/form/select-field.tsx'
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
          hint="A name is enough. You add documents in the next step."
          isRequired
        />
        {names.length > 1 && (
          <SelectField
            label="Project"
            value={project}
            onChoose={(value) => form.set({ project: value })}
            options={names}
          />
        )}
        <Options {...form} />
        {failure && field === undefined && <Failure error={failure} />}
        <div class="row">
          <Button type="submit" look="primary" label="Create" aria-disabled={isBusy} />
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
          Only rows of tables need these: which of their columns to take. Files and web pages do
          not.
        </p>
        <div class="grid">
          <DraftInput
            {...form}
            of="contentColumns"
            label="Text"
            placeholder="content"
            hint="What is searched. Separate several with commas."
          />
          <DraftInput
            {...form}
            of="metadataColumns"
            label="Metadata"
            hint="What searches can filter by. Leave empty for every other column."
          />
          <DraftInput
            {...form}
            of="idColumn"
            label="Id"
            placeholder="id"
            hint="What tells documents apart"
          />
        </div>
        <h2>Language and chunks</h2>
        <div class="grid">
          <DraftInput
            {...form}
            of="language"
            label="Language"
            hint="For keyword search"
            choices={[DETECTED_LANGUAGE, ...LANGUAGE_CHOICES]}
          />
          <DraftInput
            {...form}
            of="chunkSize"
            label="Chunk size in characters"
            type="number"
            hint="Leave empty for what the embedding model reads at once"
          />
          <DraftInput
            {...form}
            of="chunkOverlap"
            label="Overlap"
            type="number"
            hint="How many two neighbouring chunks share"
          />
        </div>
        <h2>Embedding model</h2>
        <div class="grid">
          <DraftInput
            {...form}
            of="provider"
            label="Provider"
            choices={[['', "The server's default"], ...EMBEDDING_PROVIDERS]}
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
        hint="Stored encrypted. Leave empty for the key in the server's settings."
      />
      <DraftInput
        {...form}
        of="baseUrl"
        label="Address"
        hint="Leave empty for the provider's own address"
      />
    </>
  )
}
