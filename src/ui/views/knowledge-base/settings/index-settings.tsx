/** What finds the nearest vectors: what it is now, another one, and what that takes. */
import { useState } from 'preact/hooks'
import type { STATUS } from '../../../../api/http/answers/records/server-schemas.ts'
import type { Wire } from '../../../../api/http/request/schema-words.ts'
import { indexStates, type KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { request } from '../../../api/request.ts'
import { quoted, runSql } from '../../../api/sql.ts'
import { SelectField, TextField } from '../../../components/form/field.tsx'
import { Form } from '../../../components/form/form.tsx'
import { counted, shownCount } from '../../../components/numbers.ts'
import { Loaded } from '../../../components/record-list.tsx'
import { usePolling, useResource } from '../../../components/resource.ts'
import { tellDone } from '../../../shell/notices.tsx'
import { Costs } from './embedding-settings.tsx'

const TYPES = ['auto', 'exact', 'ivf', 'hnsw'] as const
type IndexType = (typeof TYPES)[number]

const TYPE_WORDS: Readonly<Record<IndexType, string>> = {
  auto: 'Chosen by the server',
  exact: 'Exact: compares all vectors',
  ivf: 'IVF: compares the lists near the query',
  hnsw: 'HNSW: a graph, for searches without a filter',
}

/** What each can be told, with what holds where nothing is typed. */
const OPTIONS: Readonly<Record<IndexType, readonly IndexOption[]>> = {
  auto: [],
  exact: [],
  ivf: [{ name: 'nlist', label: 'Lists', usual: '2√n', min: 1, max: 65_536 }],
  hnsw: [
    { name: 'm', label: 'Links per vector (m)', usual: '16', min: 2, max: 100 },
    {
      name: 'ef_construction',
      label: 'Candidates while building',
      usual: '128',
      min: 4,
      max: 2000,
    },
    { name: 'ef_search', label: 'Candidates per search', usual: '64', min: 1, max: 4096 },
  ],
}

interface IndexOption {
  readonly name: string
  readonly label: string
  readonly usual: string
  readonly min: number
  readonly max: number
}

const ASK_AGAIN_MS = 1500
/** Vectors that the lists of an IVF index are made of, for each list. */
const TRAINED_PER_LIST = 32

interface IndexSettingsProps {
  readonly of: KnowledgeBaseName
  readonly chunks: number
  readonly onSaved: () => void
}

export function IndexSettings({ of, chunks, onSaved }: IndexSettingsProps) {
  const read = useResource((signal) => readIndexes(of, signal), ['index', of])
  const { reload } = read
  usePolling(() => {
    if (read.data?.now?.state === 'building') reload()
  }, ASK_AGAIN_MS)
  const saved = () => {
    reload()
    onSaved()
  }
  return (
    <section class="panel stack" aria-label="Vector index">
      <h2>Vector index</h2>
      <Loaded of={read} what="the index">
        {({ now, possible }) =>
          now && (
            <>
              <p role="status">
                {stateWords(now.type, now.state)}: <bdi>{now.detail}</bdi>
              </p>
              <IndexForm
                key={now.type}
                {...{ of, chunks, possible }}
                now={now.type}
                onSaved={saved}
              />
            </>
          )
        }
      </Loaded>
    </section>
  )
}

type Possible = Wire<typeof STATUS>['indexes']

interface IndexFormProps extends IndexSettingsProps {
  readonly now: string
  readonly possible: Possible
}

function IndexForm({ of, chunks, now, possible, onSaved }: IndexFormProps) {
  const [type, setType] = useState<IndexType>(TYPES.find((one) => one === now) ?? 'auto')
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const refusal = refusalOf(possible, type)
  const save = async () => {
    await runSql({ sql: statementOf(of, type, values), project: of.project })
    tellDone('Index changed')
    onSaved()
  }
  return (
    <Form verb="Change the index" onSend={save}>
      <div class="grid">
        <SelectField
          label="Kind of index"
          error={refusal}
          value={type}
          onChoose={(value) => {
            setType(TYPES.find((one) => one === value) ?? 'auto')
            setValues({})
          }}
          options={TYPES.map((one) => [one, TYPE_WORDS[one]] as const)}
        />
        {OPTIONS[type].map(({ name, label, usual, min, max }) => (
          <TextField
            key={name}
            label={label}
            hint={`Leave empty for ${usual}`}
            type="number"
            min={min}
            max={max}
            value={values[name] ?? ''}
            onText={(text) => setValues({ ...values, [name]: text })}
          />
        ))}
      </div>
      <Costs lines={costsOf(type, chunks)} />
    </Form>
  )
}

async function readIndexes({ project, name }: KnowledgeBaseName, signal: AbortSignal) {
  const [states, { indexes: possible }] = await Promise.all([
    indexStates(signal),
    request<Pick<Wire<typeof STATUS>, 'indexes'>>('/api/status', { signal }),
  ])
  return { now: states(project, name), possible }
}

function statementOf(
  { project, name }: KnowledgeBaseName,
  type: IndexType,
  values: Readonly<Record<string, string>>,
): string {
  const on = `ON KNOWLEDGE_BASE ${quoted(project)}.${quoted(name)}`
  if (type === 'auto') return `DROP INDEX IF EXISTS ${on}`
  const options = OPTIONS[type].flatMap(({ name: option }) => {
    const value = values[option] ?? ''
    return value === '' ? [] : [`, ${option} = ${Number(value)}`]
  })
  return `CREATE INDEX ${on} WITH (type = '${type}'${options.join('')})`
}

function refusalOf(possible: Possible, type: IndexType): string | undefined {
  if (type === 'auto') return undefined
  const state = possible[type]
  return state === undefined || state.possible
    ? undefined
    : `Not on this server: ${state.reason ?? 'it is missing'}. Until it is there, all vectors are compared`
}

function costsOf(type: IndexType, chunks: number): readonly string[] {
  const vectors = counted(chunks, 'vector')
  const lists = Math.max(1, Math.round(2 * Math.sqrt(chunks)))
  const meanwhile = 'It is built in the background; searches compare all vectors meanwhile'
  if (type === 'ivf') {
    const trained = Math.min(chunks, lists * TRAINED_PER_LIST)
    return [
      `About ${shownCount(lists)} lists are made of ${shownCount(trained)} of the ${vectors}. No text is embedded again`,
      meanwhile,
      'A search compares only some of the vectors: faster with very many, but it may miss a near chunk',
    ]
  }
  if (type === 'hnsw') {
    return [
      `All ${vectors} go into a graph, which is kept in memory only and rebuilt after each start`,
      meanwhile,
      'It may miss a near chunk',
    ]
  }
  if (type === 'exact')
    return [`Each search compares ${vectors}: nothing is missed, nothing is built`]
  return ['The server compares all vectors while that is fast, and makes lists where it is not']
}

function stateWords(type: string, state: string): string {
  if (state === 'building') return `The ${type} index is being built`
  if (state === 'unavailable') return `The ${type} index cannot be built here`
  return state === 'ready' ? `The ${type} index answers searches` : 'Searches are exact'
}
