/** Settings of the vector index and of searches. */

import { useState } from 'preact/hooks'
import type { STATUS } from '../../../api/http/answers/records/server-schemas.ts'
import type { Wire } from '../../../api/http/request/schema-words.ts'
import { DEFAULT_FUSION } from '../../../core/domain/hybrid-search.ts'
import { quote } from '../../../core/domain/names.ts'
import { indexStates, type KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { runSql } from '../../api/sql.ts'
import {
  DETECTED_LANGUAGE,
  FUSION_CHOICES,
  LANGUAGE_CHOICES,
  languageName,
} from '../../components/form/search-fields.tsx'
import { counted } from '../../components/numbers.ts'
import { Loaded } from '../../components/record-list.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { tellDone } from '../../shell/notices.tsx'
import {
  type SectionProps,
  type SettingField,
  SettingsSection,
  useSaving,
  type Values,
} from './settings-section.tsx'

const TYPES = [
  ['auto', 'Chosen by the server'],
  ['exact', 'Exact: compares all vectors'],
  ['ivf', 'IVF: compares the lists near the query'],
  ['hnsw', 'HNSW: a graph, for searches without a filter'],
] as const

/** The options of each index type, with the value that an empty field stands for. */
const OPTIONS: Readonly<Record<string, readonly SettingField[]>> = {
  ivf: [numberField('nlist', 'Lists', '2√n', 65_536)],
  hnsw: [
    numberField('m', 'Links per vector (m)', '16', 100),
    numberField('ef_construction', 'Candidates while building', '128', 2000),
    numberField('ef_search', 'Candidates per search', '64', 4096),
  ],
}

function numberField(name: string, label: string, empty: string, max: number): SettingField {
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

const ASK_AGAIN_MS = 1500

export function IndexSettings({ of, chunks, onSaved }: SectionProps) {
  const read = useResource((signal) => readIndexes(of, signal), ['index', of])
  usePolling(() => {
    if (read.data?.now?.state === 'building') read.reload()
  }, ASK_AGAIN_MS)
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
  const choice: SettingField = {
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
        {stateWords(now.type, now.state)}: <bdi>{now.detail}</bdi>
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

function stateWords(type: string, state: string): string {
  if (state === 'building') return `The ${type} index is being built`
  if (state === 'unavailable') return `The ${type} index cannot be built here`
  return state === 'ready' ? `Searches use the ${type} index` : 'Searches are exact'
}

/** The part of the definition that saving replaces. */
function searchPart({ params }: KnowledgeBase) {
  const { language, hybrid_search, hybrid_search_alpha, hybrid_search_fusion } = params
  return [language, hybrid_search, hybrid_search_alpha, hybrid_search_fusion]
}

/** Search defaults, and the language of the content. */
export function SearchDefaults(props: SectionProps) {
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
  const fields: readonly SettingField[] = [
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
