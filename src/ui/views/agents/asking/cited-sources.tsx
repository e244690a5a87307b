/**
 * The sources below an answer. Each shows its title, location and one passage, and links to its
 * document.
 */
import type { Citation } from '../../../../core/domain/agents/completion-event.ts'
import { listDocuments } from '../../../api/documents.ts'
import { useResource } from '../../../components/resource.ts'
import { addressOfCitation, chunkIds } from './answer-text.tsx'

export function Sources(props: {
  readonly citations: readonly Citation[]
  /** The answer's text, which the source's passage need not repeat. */
  readonly answer: string
}) {
  const { citations, answer } = props
  const titles = useTitles(citations)
  if (citations.length === 0) return null
  const plain = bare(answer)
  return (
    <section aria-label="Sources">
      <ol class="agents-sources small">
        {chunkIds(citations).map((id, index) => {
          const quotes = citations.filter(({ chunk_id }) => chunk_id === id)
          const [first] = quotes
          if (first === undefined) return null
          const title = titles.get(documentKey(first))
          const unsaid = quotes
            .map(({ text }) => text)
            .filter((text) => !plain.includes(bare(text)))
          return (
            <li key={id}>
              <a class="agents-source" href={addressOfCitation(first)}>
                <span class="agents-chip" aria-hidden="true">
                  {index + 1}
                </span>
                <bdi class="agents-source-title">{title ?? first.document_id}</bdi>
                <bdi class="quiet">{placeIn(first, title)}</bdi>
              </a>
              {unsaid.length > 0 && (
                <q class="quiet clamped" dir="auto">
                  <mark>{unsaid.join(' … ')}</mark>
                </q>
              )}
            </li>
          )
        })}
      </ol>
    </section>
  )
}

/** Returns the location, such as `Brewing › Water, page 4`. */
function placeIn({ heading, page }: Citation, title = ''): string {
  const headings = (heading ?? '').split(' > ')
  const below = headings[0] === title ? headings.slice(1) : headings
  const place = [below.join(' › '), page === null ? '' : `page ${page}`]
  return place.filter(Boolean).join(', ')
}

function bare(text: string): string {
  return text.replace(/[\s*_`>#“”"]+/g, ' ').toLowerCase()
}

function documentKey({ knowledge_base, document_id }: Citation): string {
  return JSON.stringify([knowledge_base, document_id])
}

/** Reads the documents' titles, with one request per knowledge base. */
function useTitles(citations: readonly Citation[]): ReadonlyMap<string, string> {
  const keys = [...new Set(citations.map(documentKey))]
  const { data } = useResource(async (signal) => {
    const groups = Map.groupBy(citations, ({ knowledge_base }) => knowledge_base)
    const found = await Promise.all(
      [...groups].map(async ([knowledgeBase, cited]) => {
        const [project = '', ...rest] = knowledgeBase.split('.')
        const ids = [...new Set(cited.map(({ document_id }) => document_id))]
        const part = { limit: ids.length, filters: { id: { in: ids } } }
        const list = await listDocuments({ project, name: rest.join('.') }, part, signal)
        return list.items.flatMap(({ id, title }) => {
          return title === null ? [] : [[JSON.stringify([knowledgeBase, id]), title] as const]
        })
      }),
    )
    return found.flat()
  }, keys)
  return new Map(data)
}
