/** The settings of a knowledge base. Each section is saved separately and lists its changes. */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { STATUS } from '../../../api/http/answers/records/server-schemas.ts'
import type { Wire } from '../../../api/http/request/schema-words.ts'
import { DEFAULT_FUSION } from '../../../core/domain/hybrid-search.ts'
import { quote } from '../../../core/domain/names.ts'
import { refreshCatalog } from '../../api/catalog.ts'
import { documentChanges } from '../../api/documents.ts'
import {
  countContents,
  getKnowledgeBase,
  indexStates,
  type KnowledgeBaseName,
} from '../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { runSql } from '../../api/sql.ts'
import { Icon } from '../../components/button.tsx'
import { DialogButton } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { Warnings } from '../../components/failure.tsx'
import { TextField } from '../../components/form/field.tsx'
import { FormDialog, type InputField, type Values } from '../../components/form/form.tsx'
import {
  DETECTED_LANGUAGE,
  FUSION_CHOICES,
  LANGUAGE_CHOICES,
  languageName,
} from '../../components/form/search-fields.tsx'
import { counted } from '../../components/numbers.ts'
import { Loaded, Section } from '../../components/record-list.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { tellDone } from '../../shell/notices.tsx'
import { ChunkingSettings } from './chunking-settings.tsx'
import { KnowledgeBaseFrame, wordsOfIndex } from './knowledge-base-frame.tsx'
import { EmbeddingSettings, RerankingSettings } from './model-settings.tsx'
import { type SectionProps, SettingsSection, useSaving } from './settings-section.tsx'

export function KnowledgeBaseSettingsView({ project, name }: KnowledgeBaseName) {
  const of = { project, name }
  const read = useResource(
    async (signal) => {
      const [kb, contents] = await Promise.all([
        getKnowledgeBase(project, name, signal),
        countContents(project, name, signal),
      ])
      return { kb, ...contents }
    },
    [project, name],
  )
  const { data, isLoading, reload } = read
  const changing = data?.kb.params.reembedding ?? data?.kb.params.keyword_index
  usePolling(() => {
    if (changing !== undefined && !isLoading) reload()
  }, 'soon')
  // Also updates the line below the name.
  useEffect(() => {
    documentChanges.value += 1
  }, [data?.kb.updated_at])
  const onSaved = () => {
    documentChanges.value += 1
    reload()
  }
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <Loaded of={read} what="the settings">
        {({ kb, documents, chunks }) => {
          const props = { of, kb, documents, chunks, onSaved }
          return (
            <div key={`${project}/${name}`} class="stack">
              <Warnings of={kb.params.warnings} />
              <EmbeddingSettings {...props} />
              <IndexSettings {...props} />
              <RerankingSettings {...props} />
              <SearchDefaults {...props} />
              <ChunkingSettings {...props} />
              <Columns kb={kb} />
              <Deletion at={path`/api/projects/${project}/knowledge_bases/${name}`} name={name} />
            </div>
          )
        }}
      </Loaded>
    </KnowledgeBaseFrame>
  )
}

function Columns({ kb }: { readonly kb: KnowledgeBase }) {
  const metadata = kb.metadata_columns.map((one) => `${one} ${kb.metadata_types[one] ?? ''}`)
  return (
    <Section title="Columns" class="panel stack">
      <Facts
        facts={[
          ['Content', kb.content_columns.join(', ') || 'none'],
          ['Id', kb.id_column || 'none'],
          ['Metadata', metadata.join(', ') || 'none'],
        ]}
      />
    </Section>
  )
}

function Deletion({ at, name }: { readonly at: string; readonly name: string }) {
  const { route } = useLocation()
  const [typed, setTyped] = useState('')
  const remove = async () => {
    await request(at, { method: 'DELETE' })
    tellDone(`Deleted ${name}`)
    route('/')
    // The knowledge base is deleted, even if reloading the list fails.
    await refreshCatalog().catch(() => {})
  }
  return (
    <Section title="Export or delete" class="panel stack">
      <div class="row">
        <a class="button" href={`${at}/export`} download>
          <Icon name="download" />
          Export with its vectors
        </a>
        <DialogButton icon="trash" label="Delete the knowledge base">
          {(onClose) => (
            <FormDialog
              title={`Delete ${name}?`}
              verb="Delete"
              look="danger"
              isIncomplete={typed !== name}
              onSubmit={remove}
              onClose={onClose}
            >
              <p>
                All its documents, chunks and vectors are deleted permanently. Agents that read it
                are kept.
              </p>
              <TextField
                label={`Type ${name} to delete it`}
                value={typed}
                autocomplete="off"
                onText={setTyped}
              />
            </FormDialog>
          )}
        </DialogButton>
      </div>
    </Section>
  )
}

const TYPES = [
  ['auto', 'Chosen by the server'],
  ['exact', 'Exact: compares all vectors'],
  ['ivf', 'IVF: compares the lists near the query'],
  ['hnsw', 'HNSW: a graph, for searches without a filter'],
] as const

/** The options of each index type, with the value that an empty field stands for. */
const OPTIONS: Readonly<Record<string, readonly InputField[]>> = {
  ivf: [numberField('nlist', 'Lists', '2√n', 65_536)],
  hnsw: [
    numberField('m', 'Links per vector (m)', '16', 100),
    numberField('ef_construction', 'Candidates while building', '128', 2000),
    numberField('ef_search', 'Candidates per search', '64', 4096),
  ],
}

function numberField(name: string, label: string, empty: string, max: number): InputField {
  const hint = `Leave empty for ${empty}`
  return { name, label, empty, hint, kind: 'number', min: name === 'm' ? 2 : 1, max }
}

const COSTS: Readonly<Record<string, readonly string[]>> = {
  auto: ['The server compares all vectors while that is fast, and builds lists later'],
  exact: ['Each search compares all vectors and misses nothing; no index is built'],
  ivf: [
    'The index is built in the background; no text is embedded again',
    'Searches compare only some of the vectors: faster with very many, but they may miss a near chunk',
  ],
  hnsw: [
    'The index is built in the background, kept only in memory, and rebuilt after each start',
    'Searches may miss a near chunk',
  ],
}

function IndexSettings({ of, chunks, onSaved }: SectionProps) {
  const read = useResource((signal) => readIndexes(of, signal), ['index', of])
  usePolling(() => {
    if (read.data?.now?.state === 'building') read.reload()
  }, 'soon')
  return (
    <Loaded of={read} what="the index">
      {({ now, possible }) =>
        now && (
          <IndexForm
            key={now.type}
            now={now}
            of={of}
            chunks={chunks}
            possible={possible}
            onSaved={() => {
              read.reload()
              onSaved()
            }}
          />
        )
      }
    </Loaded>
  )
}

type Indexes = Awaited<ReturnType<typeof readIndexes>>

function IndexForm(
  props: Pick<SectionProps, 'of' | 'chunks' | 'onSaved'> & {
    readonly now: NonNullable<Indexes['now']>
    readonly possible: Indexes['possible']
  },
) {
  const { of, chunks, now, possible, onSaved } = props
  const stored: Values = { type: TYPES.find(([one]) => one === now.type)?.[0] ?? 'auto' }
  const [values, setValues] = useState(stored)
  const { type = 'auto' } = values
  const known = Object.entries(possible).find(([one]) => one === type)?.[1]
  const isRefused = known !== undefined && !known.possible
  const choice: InputField = {
    name: 'type',
    label: 'Kind of index',
    options: TYPES,
    error: isRefused
      ? `Not on this server: ${known.reason ?? 'it is missing'}. Until then, all vectors are compared`
      : undefined,
  }
  return (
    <SettingsSection
      title="Vector index"
      stored={stored}
      values={values}
      fields={[choice, ...(OPTIONS[type] ?? [])]}
      onChange={(next) => setValues(next.type === type ? next : { type: next.type ?? 'auto' })}
      costs={[counted(chunks, 'vector'), ...(COSTS[type] ?? [])]}
      onSave={async () => {
        await runSql({ sql: statementOf(of, values), project: of.project })
        tellDone('Saved')
        onSaved()
      }}
    >
      <p role="status">
        Now: {wordsOfIndex(now.type, now.state)}, <bdi>{now.detail}</bdi>
      </p>
    </SettingsSection>
  )
}

async function readIndexes({ project, name }: KnowledgeBaseName, signal: AbortSignal) {
  const [states, { indexes: possible }] = await Promise.all([
    indexStates(signal),
    request<Pick<Wire<typeof STATUS>, 'indexes'>>('/api/status', { signal }),
  ])
  return { now: states(project, name), possible }
}

function statementOf({ project, name }: KnowledgeBaseName, values: Values): string {
  const { type = 'auto' } = values
  const on = `ON KNOWLEDGE_BASE ${quote(project)}.${quote(name)}`
  if (type === 'auto') return `DROP INDEX IF EXISTS ${on}`
  const options = (OPTIONS[type] ?? []).flatMap(({ name: option }) => {
    const value = values[option] ?? ''
    return value === '' ? [] : [`, ${option} = ${Number(value)}`]
  })
  return `CREATE INDEX ${on} WITH (type = '${type}'${options.join('')})`
}

/** The part of the definition that saving replaces. */
function searchPart({ params }: KnowledgeBase) {
  const { language, hybrid_search, hybrid_search_alpha, hybrid_search_fusion } = params
  return [language, hybrid_search, hybrid_search_alpha, hybrid_search_fusion]
}

/** Search defaults, and the language of the content. */
function SearchDefaults(props: SectionProps) {
  const { params } = props.kb
  const stored: Values = {
    hybrid: params.hybrid_search ? 'yes' : '',
    alpha: params.hybrid_search_alpha === undefined ? '' : String(params.hybrid_search_alpha),
    fusion: params.hybrid_search_fusion ?? DEFAULT_FUSION,
    language: params.language ?? '',
  }
  const [values, setValues] = useState(stored)
  const save = useSaving(props, searchPart)
  const { hybrid = '', alpha = '', fusion = '', language = '' } = values
  // Sends only what differs from the stored settings, not the server's defaults.
  const send = () =>
    save(({ params: now }) => ({
      ...(language === '' || language === now.language ? {} : { language }),
      hybrid_search: hybrid !== '',
      ...(alpha === String(now.hybrid_search_alpha ?? '')
        ? {}
        : { hybrid_search_alpha: alpha === '' ? null : Number(alpha) }),
      ...(fusion === (now.hybrid_search_fusion ?? DEFAULT_FUSION)
        ? {}
        : { hybrid_search_fusion: fusion }),
    }))
  const fields: readonly InputField[] = [
    { name: 'hybrid', label: 'Hybrid search by default', kind: 'check' },
    {
      name: 'alpha',
      label: 'Semantic weight',
      hint: '0 is keywords only, 1 is meaning only. Leave empty for automatic',
      kind: 'number',
      min: 0,
      max: 1,
      step: 0.05,
      empty: 'automatic',
    },
    { name: 'fusion', label: 'Combine rankings by', options: FUSION_CHOICES },
    {
      name: 'language',
      label: 'Language of the content',
      hint: 'For keyword search',
      options: stored.language === '' ? [DETECTED_LANGUAGE, ...LANGUAGE_CHOICES] : LANGUAGE_CHOICES,
    },
  ]
  return (
    <SettingsSection
      title="Searches"
      stored={stored}
      values={values}
      fields={fields}
      onChange={setValues}
      costs={
        language === stored.language
          ? ['Takes effect with the next search']
          : [
              `The keyword index of ${counted(props.chunks, 'chunk')} is rebuilt in the background; until then, searches use the current one`,
            ]
      }
      onSave={send}
    >
      {params.keyword_index && (
        <p class="small" role="status">
          The keyword index is being rebuilt in {languageName(params.keyword_index.next_language)}.
          Searches use the one in {languageName(params.keyword_index.language)} until it is done.
        </p>
      )}
    </SettingsSection>
  )
}
