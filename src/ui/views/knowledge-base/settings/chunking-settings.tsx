/** How documents are cut, with a live preview: today's chunks of a text beside those that the change would make. */
import { useEffect, useState } from 'preact/hooks'
import type {
  DOCUMENT_LIST,
  DOCUMENT_TEXTS,
  PREVIEW,
} from '../../../../http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../../../http/openapi/schema-words.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { Failure } from '../../../components/failure.tsx'
import { Field } from '../../../components/field.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useAction, useResource } from '../../../components/resource.ts'
import { counted, shownCount } from '../../../format/numbers.ts'

type Preview = Wire<typeof PREVIEW>

const TYPES = [
  'auto',
  'text_chunking',
  'markdown_chunking',
  'sentence_chunking',
  'code_chunking',
] as const
type ChunkingType = (typeof TYPES)[number]

const WORDS: Readonly<Record<ChunkingType, string>> = {
  auto: 'By what the document is',
  text_chunking: 'As plain text',
  markdown_chunking: 'By headings (Markdown)',
  sentence_chunking: 'By sentences',
  code_chunking: 'As source code',
}

/** What a preview is made of: more says no more, and takes long. */
const TEXT_CHARS_MAX = 40_000
const TYPED_MS = 250

interface Chunking {
  readonly type: ChunkingType
  readonly size: string
  readonly overlap: string
}

interface ChunkingSettingsProps {
  readonly project: string
  readonly kb: KnowledgeBase
  readonly onSave: (changes: object) => Promise<void>
}

export function ChunkingSettings({ project, kb, onSave }: ChunkingSettingsProps) {
  const [chunking, setChunking] = useState(() => chunkingOf(kb))
  const [text, setText] = useState<string>()
  const { act, failure } = useAction()
  const first = useResource((signal) => firstText(project, kb, signal), ['first text', kb.id])
  const shown = text ?? first.data ?? ''
  const save = async (event: SubmitEvent) => {
    event.preventDefault()
    await act(async () => {
      await onSave({ preprocessing: preprocessingOf(chunking) })
    })
  }
  return (
    <form class="panel stack" onSubmit={save}>
      <h2>Chunks</h2>
      <div class="grid">
        <Field label="How documents are cut">
          {(control) => (
            <select
              {...control}
              value={chunking.type}
              onChange={({ currentTarget }) => {
                const type = TYPES.find((one) => one === currentTarget.value)
                if (type) setChunking({ ...chunking, type })
              }}
            >
              {TYPES.map((type) => (
                <option key={type} value={type}>
                  {WORDS[type]}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Size in characters" hint="Empty: what the embedding model reads at once">
          {(control) => (
            <input
              {...control}
              type="number"
              min="1"
              value={chunking.size}
              onInput={({ currentTarget }) =>
                setChunking({ ...chunking, size: currentTarget.value })
              }
            />
          )}
        </Field>
        <Field label="Overlap in characters">
          {(control) => (
            <input
              {...control}
              type="number"
              min="0"
              value={chunking.overlap}
              onInput={({ currentTarget }) => {
                setChunking({ ...chunking, overlap: currentTarget.value })
              }}
            />
          )}
        </Field>
      </div>
      <p class="small quiet">
        A change counts for what is stored from now on. What is stored already stays as it is cut
        until it is stored again.
      </p>
      {failure && <Failure error={failure} />}
      <div>
        <button type="submit" class="button primary">
          Save
        </button>
      </div>
      <Field label="Try it on this text" hint="The first document, until you paste another text">
        {(control) => (
          <textarea
            {...control}
            rows={5}
            dir="auto"
            value={shown}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Field>
      <div class="kb-previews">
        <PreviewedChunks
          title="As it is now"
          project={project}
          kb={kb}
          text={shown}
          preprocessing={preprocessingOf(chunkingOf(kb))}
        />
        <PreviewedChunks
          title="With this change"
          project={project}
          kb={kb}
          text={shown}
          preprocessing={preprocessingOf(chunking)}
        />
      </div>
    </form>
  )
}

interface PreviewedChunksProps {
  readonly title: string
  readonly project: string
  readonly kb: KnowledgeBase
  readonly text: string
  readonly preprocessing: object
}

function PreviewedChunks({ title, project, kb, text, preprocessing }: PreviewedChunksProps) {
  const json = {
    text: text.slice(0, TEXT_CHARS_MAX),
    knowledge_base: kb.name,
    preprocessing,
  }
  const key = useSettled(JSON.stringify(json))
  const preview = useResource(
    async (signal) => {
      if (text.trim() === '') return undefined
      const to = path`/api/projects/${project}/knowledge_bases/preview`
      return request<Preview>(to, { method: 'POST', json: JSON.parse(key), signal })
    },
    [key],
  )
  const { data, failure } = preview
  return (
    <section class="stack" aria-label={title}>
      <h3>{title}</h3>
      {failure && <Failure error={failure} />}
      {preview.isLoading && data === undefined && <Loading what="the preview" />}
      {text.trim() === '' && <p class="small quiet">Paste a text to see its chunks.</p>}
      {data && (
        <>
          <p class="small" role="status">
            {counted(data.total, 'chunk')}, {sizes(data)}
          </p>
          {data.warnings.map((warning) => (
            <p key={warning} class="small bad">
              {warning}
            </p>
          ))}
          <ol class="kb-previewed">
            {data.chunks.map(({ chunk_id, content, start, end }) => (
              <li key={chunk_id}>
                <span class="small quiet">
                  {shownCount(start)} to {shownCount(end)}
                </span>
                <p dir="auto">{content}</p>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  )
}

/** A value once it has not changed for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPED_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

async function firstText(project: string, kb: KnowledgeBase, signal: AbortSignal): Promise<string> {
  const all = path`/api/projects/${project}/knowledge_bases/${kb.name}/documents`
  const { items } = await request<Wire<typeof DOCUMENT_LIST>>(`${all}?limit=1`, { signal })
  const [document] = items
  if (document === undefined) return ''
  const one = await request<Wire<typeof DOCUMENT_TEXTS>>(`${all}${path`/${document.id}`}`, {
    signal,
  })
  return Object.values(one.content).join('\n\n').slice(0, TEXT_CHARS_MAX)
}

function sizes({ chunks }: Preview): string {
  const lengths = chunks.map(({ content }) => content.length).sort((a, b) => a - b)
  if (lengths.length === 0) return 'nothing to cut'
  const middle = lengths[Math.floor(lengths.length / 2)] ?? 0
  return `${shownCount(lengths[0] ?? 0)} to ${shownCount(lengths.at(-1) ?? 0)} characters, half of them up to ${shownCount(middle)}`
}

function chunkingOf(kb: KnowledgeBase): Chunking {
  const sent = kb.params.preprocessing ?? {}
  const type = TYPES.find((one) => one === sent.type) ?? 'auto'
  const config: unknown = sent[configName(type)] ?? sent.text_chunking_config
  const number = (name: string) => {
    if (typeof config !== 'object' || config === null) return ''
    const value: unknown = Reflect.get(config, name)
    return typeof value === 'number' ? String(value) : ''
  }
  return { type, size: number('chunk_size'), overlap: number('chunk_overlap') }
}

function configName(type: ChunkingType): string {
  return `${type}_config`
}

function preprocessingOf({ type, size, overlap }: Chunking): object {
  const hasOverlap = type !== 'sentence_chunking' && type !== 'code_chunking'
  const config = {
    ...(size === '' ? {} : { chunk_size: Number(size) }),
    ...(overlap === '' || !hasOverlap ? {} : { chunk_overlap: Number(overlap) }),
  }
  return Object.keys(config).length === 0 ? { type } : { type, [configName(type)]: config }
}
