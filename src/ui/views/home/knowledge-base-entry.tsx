/** A knowledge base: how much is in it, how it is searched, and the ways to it. */
import type { KnowledgeBase, Usage } from '../../api/records.ts'
import { may } from '../../api/session.ts'
import { Icon } from '../../components/icon.tsx'
import { counted, shownAge, shownTime } from '../../format/numbers.ts'
import { addressOf } from '../../shell/addresses.ts'

interface KnowledgeBaseEntryProps {
  readonly project: string
  readonly knowledgeBase: KnowledgeBase
  /** Undefined: not known yet. */
  readonly usage: Usage | undefined
}

export function KnowledgeBaseEntry({ project, knowledgeBase, usage }: KnowledgeBaseEntryProps) {
  const {
    name,
    updated_at: changed,
    insert_finished_at: filled,
    insert_error: error,
  } = knowledgeBase
  const last = filled ?? changed
  return (
    <li>
      <Icon name="database" />
      <a class="one-line" dir="auto" href={addressOf.knowledgeBase(project, name)}>
        {name}
      </a>
      <span class="home-about small quiet">
        {usage === undefined ? (
          <span>…</span>
        ) : (
          <span>
            {counted(usage.documents, 'document')} · {counted(usage.chunks, 'chunk')}
          </span>
        )}
        <span title={shownTime(last)}>{shownAge(last, Date.now())}</span>
        {usage && usage.chunks > 0 && <Index state={usage.index} />}
        {error && <span class="badge bad">The last insert failed</span>}
      </span>
      <span class="home-ways">
        <a href={addressOf.searchLab(project, name)} aria-label={`Search ${name}`}>
          Search
        </a>
        <a href={addressOf.map(project, name)} aria-label={`Map of ${name}`}>
          Map
        </a>
        {may('write') && (
          <a href={addressOf.addDocuments(project, name)} aria-label={`Add to ${name}`}>
            Add
          </a>
        )}
      </span>
    </li>
  )
}

const STATES: Partial<
  Readonly<Record<Usage['index']['state'], { readonly words: string; readonly look: string }>>
> = {
  building: { words: 'Index is being built', look: 'accent' },
  unavailable: { words: 'Index unavailable', look: 'warn' },
}

function Index({ state: { type, state, detail } }: { readonly state: Usage['index'] }) {
  const shown = STATES[state]
  return (
    <>
      <span>
        {type !== 'auto' && `${type}: `}
        {detail}
      </span>
      {shown && <span class={`badge ${shown.look}`}>{shown.words}</span>}
    </>
  )
}
