/** The chunks that a text would become, a moment after what they are made of has changed. */
import { useEffect, useState } from 'preact/hooks'
import type { PREVIEW } from '../../../../api/http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../../../api/http/request/schema-words.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { Failure, Loading } from '../../../components/failure.tsx'
import { counted, shownCount } from '../../../components/numbers.ts'
import { useResource } from '../../../components/resource.ts'

export type Preview = Wire<typeof PREVIEW>

/** What a preview is made of: more says no more, and takes long. */
export const TEXT_CHARS_MAX = 40_000
const TYPED_MS = 250

interface PreviewedChunksProps {
  readonly title: string
  readonly project: string
  readonly kb: KnowledgeBase
  readonly text: string
  readonly preprocessing: object
}

export function PreviewedChunks({ title, project, kb, text, preprocessing }: PreviewedChunksProps) {
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

function sizes({ chunks }: Preview): string {
  const lengths = chunks.map(({ content }) => content.length).sort((a, b) => a - b)
  if (lengths.length === 0) return 'nothing to cut'
  const middle = lengths[Math.floor(lengths.length / 2)] ?? 0
  return `${shownCount(lengths[0] ?? 0)} to ${shownCount(lengths.at(-1) ?? 0)} characters, half of them up to ${shownCount(middle)}`
}
