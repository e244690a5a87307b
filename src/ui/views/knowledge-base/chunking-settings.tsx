/** Chunking settings with a preview, and re-chunking of stored documents. */

import { useEffect, useState } from 'preact/hooks'
import type { PREVIEW } from '../../../api/http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../../api/http/request/schema-words.ts'
import { isOver } from '../../../core/domain/flow/job.ts'
import { isObject } from '../../../core/json.ts'
import { getDocument, listDocuments } from '../../api/documents.ts'
import { listJobs } from '../../api/jobs.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmButton } from '../../components/dialog.tsx'
import { Failure, Loading, Warnings } from '../../components/failure.tsx'
import { TextAreaField } from '../../components/form/field.tsx'
import type { InputField, Values } from '../../components/form/form.tsx'
import { JobProgress } from '../../components/job-progress.tsx'
import { counted, shownCount } from '../../components/numbers.ts'
import { useResource } from '../../components/resource.ts'
import { Costs, type SectionProps, SettingsSection, useSaving } from './settings-section.tsx'

/** The types offered. Other types, which SQL can set, are offered only while one is stored. */
const TYPES: readonly (readonly [string, string])[] = [
  ['auto', 'By document type'],
  ['text_chunking', 'As plain text'],
  ['markdown_chunking', 'By headings (Markdown)'],
  ['sentence_chunking', 'By sentences'],
  ['code_chunking', 'As source code'],
]
const OTHER_TYPES: readonly (readonly [string, string])[] = [
  ['json_chunking', 'As JSON'],
  ['contextual', 'With context written by a model'],
]

const hasSize = (type: string) => type !== 'json_chunking'
const hasOverlap = (type: string) => {
  return hasSize(type) && type !== 'sentence_chunking' && type !== 'code_chunking'
}

export function ChunkingSettings(props: SectionProps) {
  const { of, kb, documents } = props
  const preprocessing = kb.params.preprocessing ?? {}
  const stored = valuesOf(preprocessing)
  const [values, setValues] = useState(stored)
  const [begun, setBegun] = useState(0)
  const [isRunning, setIsRunning] = useState(false)
  const save = useSaving(props, (one) => one.params.preprocessing)
  const next = preprocessingOf(values, preprocessing)
  const isChanged = JSON.stringify(values) !== JSON.stringify(stored)
  const { type = 'auto' } = values
  const what = `e-chunk ${counted(documents, 'document')}`
  return (
    <SettingsSection
      title="Chunks"
      stored={stored}
      values={values}
      fields={fieldsOf(type, stored.type ?? 'auto')}
      onChange={setValues}
      costs={[
        documents === 0
          ? 'Applies to documents that you add from now on'
          : `Applies to documents that you add from now on; ${counted(documents, 'document')} keep their chunks until you re-chunk them`,
      ]}
      onSave={() => save({ preprocessing: next })}
      beside={
        documents > 0 &&
        !isRunning && (
          <ConfirmButton
            label={isChanged ? `Save and r${what}` : `R${what}`}
            asks={`R${what}?`}
            verb="Re-chunk"
            onConfirm={async () => {
              await save({ preprocessing: next, rechunk: true })
              setBegun((before) => before + 1)
            }}
          >
            <Costs label="What it costs" lines={costsOf(kb, type, documents)} />
          </ConfirmButton>
        )
      }
    >
      <RechunkProgress of={of} begun={begun} onRunning={setIsRunning} onOver={props.onSaved} />
      <Preview {...{ of, kb, next }} now={preprocessing} />
    </SettingsSection>
  )
}

function fieldsOf(type: string, storedType: string): readonly InputField[] {
  const options = [...TYPES, ...OTHER_TYPES.filter(([one]) => one === storedType)]
  const number = { kind: 'number', empty: 'automatic' } as const
  const hint = 'Leave empty to fit the embedding model'
  return [
    { name: 'type', label: 'How documents are chunked', options },
    ...(hasSize(type)
      ? [{ name: 'size', label: 'Size in characters', ...number, min: 1, hint }]
      : []),
    ...(hasOverlap(type)
      ? [{ name: 'overlap', label: 'Overlap in characters', ...number, min: 0 }]
      : []),
  ]
}

function costsOf(kb: KnowledgeBase, type: string, documents: number): readonly string[] {
  return [
    `${counted(documents, 'document')} are read; those with unchanged chunks stay as they are`,
    kb.embedding_model.provider === 'builtin'
      ? 'Changed chunks are embedded on this server'
      : `Changed chunks are embedded by ${kb.embedding_model.model_name}, at its price`,
    ...(type === 'contextual' ? ['The chat model is called once for each chunk'] : []),
    'Ids and metadata are kept, and searches keep finding every document. You can cancel this while it runs',
  ]
}

type Stored = NonNullable<KnowledgeBase['params']['preprocessing']>

/** If no type is stored, it is derived from the options. */
function typeOf(stored: Stored): string {
  if (typeof stored.type === 'string') return stored.type
  const known = [...TYPES, ...OTHER_TYPES].map(([one]) => one)
  return known.find((type) => stored[`${type}_config`] != null) ?? 'auto'
}

function valuesOf(stored: Stored): Values {
  const type = typeOf(stored)
  const { chunk_size: size, chunk_overlap: overlap } = configOf(stored, type)
  return { type, size: String(size ?? ''), overlap: String(overlap ?? '') }
}

function configOf(stored: Stored, type: string): Stored {
  const config = stored[`${type}_config`]
  return isObject(config) ? config : {}
}

/** Options without a field are kept as long as the type stays the same. */
function preprocessingOf({ type = 'auto', size = '', overlap = '' }: Values, stored: Stored) {
  const { chunk_size: _size, chunk_overlap: _overlap, ...others } = configOf(stored, type)
  const config = {
    ...others,
    ...(size === '' || !hasSize(type) ? {} : { chunk_size: Number(size) }),
    ...(overlap === '' || !hasOverlap(type) ? {} : { chunk_overlap: Number(overlap) }),
  }
  return Object.keys(config).length === 0 ? { type } : { type, [`${type}_config`]: config }
}

/** The last re-chunking job, if it is recent. */
function RechunkProgress(props: {
  readonly of: KnowledgeBaseName
  /** Increases with each job started here. */
  readonly begun: number
  readonly onRunning: (isRunning: boolean) => void
  readonly onOver: () => void
}) {
  const { of, begun, onRunning, onOver } = props
  const { project, name } = of
  const { data, failure, reload } = useResource(
    async (signal) => {
      const filters = { project, knowledgeBase: name, kind: 'rechunk', limit: 1 } as const
      return { job: (await listJobs(filters, signal)).items[0] }
    },
    [project, name, begun],
  )
  const job = data?.job
  const isRunning = job !== undefined && !isOver(job)
  const [isFollowed, setIsFollowed] = useState(false)
  useEffect(() => {
    onRunning(isRunning)
    if (isRunning) setIsFollowed(true)
  }, [isRunning])
  if (failure) return <Failure error={failure} onRetry={reload} />
  if (job === undefined) return null
  const isNews = begun > 0 || isFollowed || job.state !== 'done' || job.error_count > 0
  if (!isNews) return null
  return (
    <section class="stack" aria-label="Re-chunked documents">
      <JobProgress
        key={job.id}
        job={job}
        onChanged={reload}
        onOver={() => {
          reload()
          onOver()
        }}
      />
    </section>
  )
}

const TEXT_CHARS_MAX = 40_000
const TYPED_MS = 250

interface PreviewProps {
  readonly of: KnowledgeBaseName
  readonly kb: KnowledgeBase
  readonly now: object
  readonly next: object
}

/** The chunks of a text with the current and with the changed settings. */
function Preview({ of, kb, now, next }: PreviewProps) {
  const [isOpen, setIsOpen] = useState(false)
  const [typed, setTyped] = useState<string>()
  const first = useResource(
    async (signal) => {
      const [document] = (await listDocuments(of, { limit: 1, filters: {} }, signal)).items
      if (document === undefined) return ''
      const { content } = await getDocument(of, document.id, signal)
      return Object.values(content).join('\n\n').slice(0, TEXT_CHARS_MAX)
    },
    ['first text', of, kb.id],
  )
  const text = typed ?? first.data ?? ''
  if (!isOpen) {
    return (
      <div>
        <Button look="small" label="Preview the chunks" onClick={() => setIsOpen(true)} />
      </div>
    )
  }
  return (
    <>
      <TextAreaField
        label="Text to try"
        hint="The first document, until you paste another text"
        rows={5}
        value={text}
        onText={setTyped}
      />
      <div class="side-by-side">
        <PreviewedChunks title="Now" {...{ of, text }} preprocessing={now} />
        <PreviewedChunks title="With this change" {...{ of, text }} preprocessing={next} />
      </div>
    </>
  )
}

function PreviewedChunks(props: {
  readonly title: string
  readonly of: KnowledgeBaseName
  readonly text: string
  readonly preprocessing: object
}) {
  const { title, of, text, preprocessing } = props
  const json = { text: text.slice(0, TEXT_CHARS_MAX), knowledge_base: of.name, preprocessing }
  const { data, failure, isLoading } = useResource(
    async (signal) => {
      // Waits until the user pauses typing.
      await new Promise((resolve) => setTimeout(resolve, TYPED_MS))
      signal.throwIfAborted()
      if (text.trim() === '') return undefined
      const to = path`/api/projects/${of.project}/knowledge_bases/preview`
      return request<Wire<typeof PREVIEW>>(to, { method: 'POST', json, signal })
    },
    [json],
  )
  const sizes = data?.chunks.map(({ content }) => content.length) ?? []
  return (
    <section class="stack" aria-label={title}>
      <h3>{title}</h3>
      {failure && <Failure error={failure} />}
      {isLoading && data === undefined && <Loading what="the preview" />}
      {text.trim() === '' && <p class="small quiet">Paste a text to see its chunks.</p>}
      {data && (
        <>
          <p class="small" role="status">
            {counted(data.total, 'chunk')}, {shownCount(Math.min(...sizes))} to{' '}
            {shownCount(Math.max(...sizes))} characters
          </p>
          <Warnings of={data.warnings} />
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it */}
          <ol class="list kb-previewed" tabIndex={0} aria-label={`Chunks, ${title}`}>
            {data.chunks.map(({ chunk_id, content, start, end }) => (
              <li key={chunk_id}>
                <span class="small quiet">
                  {shownCount(start)} to {shownCount(end)}
                </span>
                <p class="pre">{content}</p>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  )
}
