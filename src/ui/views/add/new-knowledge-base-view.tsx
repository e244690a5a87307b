/** Creates a knowledge base. Only the name is required; the defaults suit most documents. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { DEFAULT_PROJECT } from '../../../core/domain/names.ts'
import { projects, refreshCatalog } from '../../api/catalog.ts'
import { createKnowledgeBase, type KnowledgeBaseDefinition } from '../../api/knowledge-bases.ts'
import { SelectField } from '../../components/form/field.tsx'
import { Form, type InputField, Inputs, type Values } from '../../components/form/form.tsx'
import {
  DETECTED_LANGUAGE,
  EMBEDDING_PROVIDERS,
  LANGUAGE_CHOICES,
  modelFields,
  modelOf,
} from '../../components/form/search-fields.tsx'
import { projectChoices } from '../../components/known-name.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Section } from '../../components/record-list.tsx'
import { addressOf } from '../../shell/addresses.ts'
import { tellFailed } from '../../shell/notices.tsx'

export function NewKnowledgeBaseView() {
  const { route, query } = useLocation()
  const [chosen, setProject] = useState(query.project)
  const [values, setValues] = useState<Values>({})
  // Some users may use only other projects, which are known shortly after the page opens.
  const project = chosen ?? projects.value?.[0]?.name ?? DEFAULT_PROJECT
  const create = async () => {
    const { name, params } = await createKnowledgeBase(project, definitionOf(values))
    for (const warning of params.warnings ?? []) tellFailed(warning)
    await refreshCatalog()
    route(addressOf.addDocuments(project, name))
  }
  const choices = projectChoices(project)
  const inputs = { values, onChange: setValues }
  return (
    <>
      <PageHeader title="New knowledge base" above={[{ label: 'Home', href: '/' }]} />
      <Form class="panel stack add-form" verb="Create" onSend={create}>
        <Inputs {...inputs} class="stack" fields={NAME} />
        {choices.length > 1 && (
          <SelectField label="Project" value={project} onChoose={setProject} options={choices} />
        )}
        <details>
          <summary>Options</summary>
          <div class="stack">
            <Section title="Columns">
              <p class="small quiet">
                Only table rows need these: the columns to use. Files and web pages do not.
              </p>
              <Inputs {...inputs} fields={COLUMNS} />
            </Section>
            <Section title="Language and chunks">
              <Inputs {...inputs} fields={CHUNKS} />
            </Section>
            <Section title="Embedding model">
              <Inputs {...inputs} fields={modelFields(values, PROVIDERS, MODEL)} />
            </Section>
          </div>
        </details>
      </Form>
    </>
  )
}

const NAME: readonly InputField[] = [
  {
    ...{ name: 'name', label: 'Name', isRequired: true },
    hint: 'A name is enough. You add documents in the next step.',
  },
]

const COLUMNS: readonly InputField[] = [
  {
    ...{ name: 'content', label: 'Text', placeholder: 'content' },
    hint: 'Columns to search, separated by commas.',
  },
  {
    ...{ name: 'metadata', label: 'Metadata' },
    hint: 'Columns to filter by, separated by commas. Leave empty for all other columns.',
  },
  { name: 'id', label: 'Id', placeholder: 'id', hint: 'Identifies each document' },
]

const CHUNKS: readonly InputField[] = [
  {
    ...{ name: 'language', label: 'Language', hint: 'For keyword search' },
    options: [DETECTED_LANGUAGE, ...LANGUAGE_CHOICES],
  },
  {
    ...{ name: 'size', label: 'Chunk size in characters', kind: 'number', min: 0 },
    hint: 'Leave empty to fit the embedding model',
  },
  {
    ...{ name: 'overlap', label: 'Overlap', kind: 'number', min: 0 },
    hint: 'Number of characters that neighbouring chunks share',
  },
]

const PROVIDERS = [['', "The server's default"], ...EMBEDDING_PROVIDERS] as const
const MODEL = 'text-embedding-3-small'

/** Empty fields are not sent, so that the server's defaults apply. */
function definitionOf(values: Values): KnowledgeBaseDefinition {
  const { name = '', content = '', metadata = '', id = '', language = '', provider = '' } = values
  const { size = '', overlap = '' } = values
  const chunking = {
    ...(size && { chunk_size: Number(size) }),
    ...(overlap && { chunk_overlap: Number(overlap) }),
  }
  return {
    name: name.trim(),
    ...(content.trim() && { content_columns: namesIn(content) }),
    ...(metadata.trim() && { metadata_columns: namesIn(metadata) }),
    ...(id.trim() && { id_column: id.trim() }),
    ...(language && { language }),
    ...(provider && { embedding_model: modelOf(values) }),
    ...(size + overlap && { preprocessing: { type: 'auto', auto_config: chunking } }),
  }
}

function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
