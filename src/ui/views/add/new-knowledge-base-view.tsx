/** Creates a knowledge base. Only the name is required; the defaults suit most documents. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { DEFAULT_PROJECT } from '../../../core/domain/names.ts'
import { projects, refreshCatalog } from '../../api/catalog.ts'
import { createKnowledgeBase, type KnowledgeBaseDefinition } from '../../api/knowledge-bases.ts'
import { SelectField, TextField } from '../../components/form/field.tsx'
import { Form } from '../../components/form/form.tsx'
import {
  DETECTED_LANGUAGE,
  EMBEDDING_PROVIDERS,
  LANGUAGE_CHOICES,
} from '../../components/form/search-fields.tsx'
import { projectChoices } from '../../components/known-name.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { addressOf } from '../../shell/addresses.ts'
import { tellFailed } from '../../shell/notices.tsx'

export function NewKnowledgeBaseView() {
  const { route, query } = useLocation()
  const [draft, setDraft] = useState({ ...EMPTY_DRAFT, project: query.project ?? '' })
  // Some users may use only other projects, which are known shortly after the page opens.
  const project = draft.project || (projects.value?.[0]?.name ?? DEFAULT_PROJECT)
  const form: DraftProps = {
    draft,
    set: (change) => setDraft((before) => ({ ...before, ...change })),
  }
  const create = async () => {
    const { name, params } = await createKnowledgeBase(project, definitionOf(draft))
    for (const warning of params.warnings ?? []) tellFailed(warning)
    await refreshCatalog()
    route(addressOf.addDocuments(project, name))
  }
  const choices = projectChoices(project)
  return (
    <>
      <PageHeader title="New knowledge base" above={[{ label: 'Home', href: '/' }]} />
      <Form class="panel stack add-form" verb="Create" onSend={create}>
        <DraftInput {...form} {...NAME} />
        {choices.length > 1 && (
          <SelectField
            label="Project"
            value={project}
            onChoose={(value) => form.set({ project: value })}
            options={choices}
          />
        )}
        <Options {...form} />
      </Form>
    </>
  )
}

interface DraftProps {
  readonly draft: Draft
  readonly set: (change: Partial<Draft>) => void
}

function Options(form: DraftProps) {
  const { draft } = form
  const isRemote = draft.provider !== '' && draft.provider !== 'builtin'
  return (
    <details>
      <summary>Options</summary>
      <div class="stack">
        {GROUPS.map(({ title, note, fields }) => (
          <section key={title} class="stack" aria-label={title}>
            <h2>{title}</h2>
            {note && <p class="small quiet">{note}</p>}
            <div class="grid">
              {fields
                .filter(({ isRemoteOnly = false }) => isRemote || !isRemoteOnly)
                .map((field) => (
                  <DraftInput key={field.of} {...form} {...field} />
                ))}
            </div>
          </section>
        ))}
      </div>
    </details>
  )
}

interface FieldSpec {
  readonly of: DraftField
  readonly label: string
  readonly hint?: string
  readonly type?: 'text' | 'number' | 'password'
  readonly placeholder?: string
  readonly required?: boolean
  readonly choices?: readonly (readonly [value: string, words: string])[]
  /** Whether the field applies only to a provider's models, not to the built-in one. */
  readonly isRemoteOnly?: boolean
}

const NAME: FieldSpec = {
  ...{ of: 'name', label: 'Name', required: true },
  hint: 'A name is enough. You add documents in the next step.',
}

const GROUPS: readonly {
  readonly title: string
  readonly note?: string
  readonly fields: readonly FieldSpec[]
}[] = [
  {
    title: 'Columns',
    note: 'Only table rows need these: the columns to use. Files and web pages do not.',
    fields: [
      {
        ...{ of: 'contentColumns', label: 'Text', placeholder: 'content' },
        hint: 'Columns to search, separated by commas.',
      },
      {
        ...{ of: 'metadataColumns', label: 'Metadata' },
        hint: 'Columns to filter by, separated by commas. Leave empty for all other columns.',
      },
      { of: 'idColumn', label: 'Id', placeholder: 'id', hint: 'Identifies each document' },
    ],
  },
  {
    title: 'Language and chunks',
    fields: [
      {
        ...{ of: 'language', label: 'Language', hint: 'For keyword search' },
        choices: [DETECTED_LANGUAGE, ...LANGUAGE_CHOICES],
      },
      {
        ...{ of: 'chunkSize', label: 'Chunk size in characters', type: 'number' },
        hint: 'Leave empty to fit the embedding model',
      },
      {
        ...{ of: 'chunkOverlap', label: 'Overlap', type: 'number' },
        hint: 'Number of characters that neighbouring chunks share',
      },
    ],
  },
  {
    title: 'Embedding model',
    fields: [
      {
        ...{ of: 'provider', label: 'Provider' },
        choices: [['', "The server's default"], ...EMBEDDING_PROVIDERS],
      },
      {
        ...{ of: 'model', label: 'Model', required: true, isRemoteOnly: true },
        placeholder: 'text-embedding-3-small',
      },
      {
        ...{ of: 'apiKey', label: 'Key', type: 'password', isRemoteOnly: true },
        hint: "Stored encrypted. Leave empty for the key in the server's settings.",
      },
      {
        ...{ of: 'baseUrl', label: 'Address', isRemoteOnly: true },
        hint: "Leave empty for the provider's own address",
      },
    ],
  },
]

function DraftInput({ draft, set, ...field }: DraftProps & FieldSpec) {
  const { of, label, hint, type = 'text', placeholder, required = false, choices } = field
  const words = { label, hint, value: draft[of] }
  const change = (value: string) => set({ [of]: value })
  if (choices) return <SelectField {...words} options={choices} onChoose={change} />
  return (
    <TextField
      {...words}
      {...{ type, placeholder, required }}
      min={type === 'number' ? 0 : undefined}
      autocomplete={type === 'password' ? 'new-password' : 'off'}
      onText={change}
    />
  )
}

const EMPTY_DRAFT = {
  ...{ project: DEFAULT_PROJECT, name: '', language: '' },
  ...{ contentColumns: '', metadataColumns: '', idColumn: '' },
  ...{ provider: '', model: '', apiKey: '', baseUrl: '', chunkSize: '', chunkOverlap: '' },
}

type Draft = Readonly<typeof EMPTY_DRAFT>

/** Empty fields are not sent, so that the server's defaults apply. */
function definitionOf(draft: Draft): KnowledgeBaseDefinition {
  const given = <T,>(name: string, typed: string, value: T) =>
    typed === '' ? {} : { [name]: value }
  const { contentColumns, metadataColumns, idColumn, language, provider } = draft
  const chunking = {
    ...given('chunk_size', draft.chunkSize, Number(draft.chunkSize)),
    ...given('chunk_overlap', draft.chunkOverlap, Number(draft.chunkOverlap)),
  }
  const preprocessing = { type: 'auto', auto_config: chunking }
  return {
    name: draft.name.trim(),
    ...given('content_columns', contentColumns.trim(), namesIn(contentColumns)),
    ...given('metadata_columns', metadataColumns.trim(), namesIn(metadataColumns)),
    ...given('id_column', idColumn.trim(), idColumn.trim()),
    ...given('language', language, language),
    ...given('embedding_model', provider, modelOf(draft)),
    ...given('preprocessing', draft.chunkSize + draft.chunkOverlap, preprocessing),
  }
}

function modelOf({ provider, model, apiKey, baseUrl }: Draft) {
  return {
    provider,
    model_name: model.trim(),
    ...(apiKey === '' ? {} : { api_key: apiKey }),
    ...(baseUrl.trim() === '' ? {} : { base_url: baseUrl.trim() }),
  }
}

function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

type DraftField = Exclude<keyof Draft, 'project'>
