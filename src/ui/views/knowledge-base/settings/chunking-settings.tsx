/** How documents are cut, with a live preview: today's chunks of a text beside those that the change would make. */
import { useState } from 'preact/hooks'
import type {
  DOCUMENT_LIST,
  DOCUMENT_TEXTS,
} from '../../../../http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../../../http/openapi/schema-words.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { Failure } from '../../../components/failure.tsx'
import { Field } from '../../../components/field.tsx'
import { useAction, useResource } from '../../../components/resource.ts'
import { counted } from '../../../format/numbers.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { Costs } from './embedding-settings.tsx'
import { PreviewedChunks, TEXT_CHARS_MAX } from './previewed-chunks.tsx'
import { type SettingsPartProps, useSaving } from './saving.ts'

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

interface Chunking {
  readonly type: ChunkingType
  readonly size: string
  readonly overlap: string
}

export function ChunkingSettings(props: SettingsPartProps & { readonly documents: number }) {
  const { of, kb, documents } = props
  const { project } = of
  const [chunking, setChunking] = useState(() => chunkingOf(kb))
  const [text, setText] = useState<string>()
  const { act, failure, isBusy } = useAction()
  const onSave = useSaving(props, (one) => one.params.preprocessing)
  const first = useResource((signal) => firstText(project, kb, signal), ['first text', kb.id])
  const shown = text ?? first.data ?? ''
  const save = async (event: SubmitEvent) => {
    event.preventDefault()
    await act(async () => {
      await onSave({ preprocessing: preprocessingOf(chunking) })
    })
  }
  return (
    <form class="panel stack" onSubmit={save} aria-label="Chunks">
      <h2>Chunks</h2>
      <div class="grid">
        <TypeField type={chunking.type} onChange={(type) => setChunking({ ...chunking, type })} />
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
      <Costs
        lines={[
          'Costs nothing at first: it counts for what is stored from now on',
          ...(documents === 0
            ? []
            : [
                `${counted(documents, 'document')} stay as they are cut until they are stored again`,
                'To cut them anew, add the same files, pages or rows again: a document takes the place of the one with its id, and a chunk that stays the same is not embedded again',
              ]),
        ]}
      />
      {failure && <Failure error={failure} />}
      <div class="row">
        <button type="submit" class="button primary" aria-disabled={isBusy}>
          Save
        </button>
        {documents > 0 && (
          <a class="button" href={addressOf.addDocuments(project, of.name)}>
            Add documents again
          </a>
        )}
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

interface TypeFieldProps {
  readonly type: ChunkingType
  readonly onChange: (type: ChunkingType) => void
}

function TypeField({ type, onChange }: TypeFieldProps) {
  return (
    <Field label="How documents are cut">
      {(control) => (
        <select
          {...control}
          value={type}
          onChange={({ currentTarget }) => {
            const chosen = TYPES.find((one) => one === currentTarget.value)
            if (chosen) onChange(chosen)
          }}
        >
          {TYPES.map((one) => (
            <option key={one} value={one}>
              {WORDS[one]}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
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
