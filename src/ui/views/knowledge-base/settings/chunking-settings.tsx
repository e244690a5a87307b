/** How documents are split, with a live preview: today's chunks of a text beside those that the change would make. */
import { useState } from 'preact/hooks'
import type {
  DOCUMENT_LIST,
  DOCUMENT_TEXTS,
} from '../../../../api/http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../../../api/http/request/schema-words.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { Button } from '../../../components/button.tsx'
import { Failure } from '../../../components/failure.tsx'
import { SelectField, TextAreaField, TextField } from '../../../components/form/field.tsx'
import { counted } from '../../../components/numbers.ts'
import { useAction, useResource } from '../../../components/resource.ts'
import { Costs } from './embedding-settings.tsx'
import { PreviewedChunks, TEXT_CHARS_MAX } from './previewed-chunks.tsx'
import { Rechunking } from './rechunking.tsx'
import { type SettingsPartProps, useSaving } from './saving.ts'

/** The types to choose from. Another one that is stored, as by SQL, is a choice as long as it is stored. */
const TYPES = ['auto', 'text_chunking', 'markdown_chunking', 'sentence_chunking', 'code_chunking']

const WORDS: Readonly<Record<string, string>> = {
  auto: 'By the kind of document',
  text_chunking: 'As plain text',
  markdown_chunking: 'By headings (Markdown)',
  sentence_chunking: 'By sentences',
  code_chunking: 'As source code',
  json_chunking: 'As JSON',
  contextual: 'With context written by a model',
}

/** Types of which a chunk has a size, and of which it shares some text with the next. */
const hasSize = (type: string) => type !== 'json_chunking'
const hasOverlap = (type: string) => {
  return hasSize(type) && type !== 'sentence_chunking' && type !== 'code_chunking'
}

interface Chunking {
  readonly type: string
  readonly size: string
  readonly overlap: string
}

export function ChunkingSettings(props: SettingsPartProps & { readonly documents: number }) {
  const { of, kb, documents } = props
  const { project } = of
  const stored = kb.params.preprocessing ?? {}
  const [chunking, setChunking] = useState(() => chunkingOf(stored))
  const [text, setText] = useState<string>()
  const { act, failure, isBusy } = useAction()
  const onSave = useSaving(props, (one) => one.params.preprocessing)
  const first = useResource((signal) => firstText(project, kb, signal), ['first text', kb.id])
  const shown = text ?? first.data ?? ''
  const preprocessing = preprocessingOf(chunking, stored)
  const save = async (event: SubmitEvent) => {
    event.preventDefault()
    await act(() => onSave({ preprocessing }))
  }
  return (
    <form class="panel stack" onSubmit={save} aria-label="Chunks">
      <h2>Chunks</h2>
      <div class="grid">
        <TypeField
          type={chunking.type}
          storedType={typeOf(stored)}
          onChange={(type) => setChunking({ ...chunking, type })}
        />
        <SizeFields chunking={chunking} onChange={setChunking} />
      </div>
      <Costs
        lines={[
          'Saving costs nothing: it counts for what is stored from now on',
          ...(documents === 0
            ? []
            : [`${counted(documents, 'document')} stay as they are until they are split again`]),
        ]}
      />
      {failure && <Failure error={failure} />}
      <Rechunking
        {...props}
        preprocessing={preprocessing}
        isChanged={!isSame(preprocessing, preprocessingOf(chunkingOf(stored), stored))}
        onBegin={() => onSave({ preprocessing, rechunk: true })}
      >
        <Button type="submit" look="primary" label="Save" aria-disabled={isBusy} />
      </Rechunking>
      <TextAreaField
        label="Try it on this text"
        hint="The first document, until you paste another text"
        rows={5}
        value={shown}
        onText={setText}
      />
      <div class="kb-previews">
        <PreviewedChunks
          title="As it is now"
          project={project}
          kb={kb}
          text={shown}
          preprocessing={stored}
        />
        <PreviewedChunks
          title="With this change"
          project={project}
          kb={kb}
          text={shown}
          preprocessing={preprocessing}
        />
      </div>
    </form>
  )
}

function isSame(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

interface SizeFieldsProps {
  readonly chunking: Chunking
  readonly onChange: (chunking: Chunking) => void
}

function SizeFields({ chunking, onChange }: SizeFieldsProps) {
  return (
    <>
      {hasSize(chunking.type) && (
        <TextField
          label="Size in characters"
          hint="Leave empty for what the embedding model reads at once"
          type="number"
          min="1"
          value={chunking.size}
          onText={(text) => onChange({ ...chunking, size: text })}
        />
      )}
      {hasOverlap(chunking.type) && (
        <TextField
          label="Overlap in characters"
          type="number"
          min="0"
          value={chunking.overlap}
          onText={(text) => {
            onChange({ ...chunking, overlap: text })
          }}
        />
      )}
    </>
  )
}

interface TypeFieldProps {
  readonly type: string
  readonly storedType: string
  readonly onChange: (type: string) => void
}

function TypeField({ type, storedType, onChange }: TypeFieldProps) {
  return (
    <SelectField
      label="How documents are split"
      value={type}
      onChoose={onChange}
      options={[...new Set([...TYPES, storedType])].map((one) => [one, WORDS[one] ?? one] as const)}
    />
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

type Stored = NonNullable<KnowledgeBase['params']['preprocessing']>

/** Where no type is named, the options say which one it is. */
function typeOf(stored: Stored): string {
  if (typeof stored.type === 'string') return stored.type
  return Object.keys(WORDS).find((type) => stored[configName(type)] != null) ?? 'auto'
}

function chunkingOf(stored: Stored): Chunking {
  const type = typeOf(stored)
  const { chunk_size: size, chunk_overlap: overlap } = configOf(stored, type)
  return { type, size: String(size ?? ''), overlap: String(overlap ?? '') }
}

function configName(type: string): string {
  return `${type}_config`
}

function configOf(stored: Stored, type: string): Stored {
  const config = stored[configName(type)]
  return typeof config === 'object' && config !== null
    ? Object.fromEntries(Object.entries(config))
    : {}
}

/** What no field shows stays, as the separators of a text, as long as the type does. */
function preprocessingOf({ type, size, overlap }: Chunking, stored: Stored): object {
  const { chunk_size: _size, chunk_overlap: _overlap, ...others } = configOf(stored, type)
  const config = {
    ...others,
    ...(size === '' || !hasSize(type) ? {} : { chunk_size: Number(size) }),
    ...(overlap === '' || !hasOverlap(type) ? {} : { chunk_overlap: Number(overlap) }),
  }
  return Object.keys(config).length === 0 ? { type } : { type, [configName(type)]: config }
}
