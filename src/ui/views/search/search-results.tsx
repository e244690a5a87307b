/** The results of a search: one list, or all rankings side by side (on a phone, one at a time). */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import {
  type KnowledgeBaseName,
  type SearchOrder,
  search,
  searchPath,
} from '../../api/knowledge-bases.ts'
import { Button, CopyButton } from '../../components/button.tsx'
import { Dialog, DialogButton } from '../../components/dialog.tsx'
import { EmptyState, Failure, Loading, Progress, Warnings } from '../../components/failure.tsx'
import { counted } from '../../components/numbers.ts'
import { Loaded } from '../../components/record-list.tsx'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import type { Judging } from './judgments.ts'
import { type LiveSearch, NotReranked } from './live-search.ts'
import { type Comparing, SearchHit } from './search-hit.tsx'
import { RANKINGS, type Ranking, ranksOf } from './search-settings.ts'

const TITLES: Readonly<Record<Ranking, string>> = {
  vector: 'Semantic',
  keyword: 'Keyword',
  hybrid: 'Hybrid',
  reranked: 'Reranked',
}

interface ResultsProps {
  readonly place: KnowledgeBaseName
  readonly searches: Readonly<Record<Ranking, LiveSearch>>
  /** The metadata columns to show; empty for all. */
  readonly shownColumns: readonly string[]
  readonly onRerank: () => void
  readonly onFilter: (column: string, value: unknown, isItem: boolean) => void
}

export function Results({ ranking, ...props }: ResultsProps & { readonly ranking: Ranking }) {
  const { searches, place } = props
  const { answer, order, isBusy } = searches[ranking]
  // Until the reranking model answers, results are in the search's own order.
  const isReading = ranking === 'reranked' && answer === undefined && isBusy
  const shown = isReading ? 'hybrid' : ranking
  return (
    <section
      class="list search-results"
      aria-label="Results"
      aria-busy={isBusy}
      data-searched={order?.query}
    >
      {isReading && <Progress label="The reranking model reads the results" />}
      {answer !== undefined && order !== undefined && answer.results.length > 0 && (
        <div class="row small quiet">
          <span class="grow" role="status">
            {counted(answer.results.length, 'result')}
          </span>
          <SameInCode place={place} order={order} />
        </div>
      )}
      <RankingBody {...props} ranking={shown} />
    </section>
  )
}

/** One column per ranking; each result shows its rank in the others. */
export function Compared({
  judging,
  hasReranker,
  ...props
}: ResultsProps & { readonly judging: Judging; readonly hasReranker: boolean }) {
  const [shown, setShown] = useState<Ranking>('hybrid')
  const { searches, place } = props
  const rankings = RANKINGS.filter((one) => one !== 'reranked' || hasReranker)
  const ranks = ranksOf(rankings.map((one) => [one, searches[one].answer?.results ?? []]))
  const comparing = {
    ranks,
    judging,
    rankings: rankings.filter((one) => searches[one].answer !== undefined),
  }
  return (
    <>
      {!hasReranker && (
        <p class="small quiet">
          No reranking model.{' '}
          <a href={addressOf.knowledgeBaseSettings(place.project, place.name)}>
            Choose one in the settings
          </a>
          .
        </p>
      )}
      {judging.failure && <Failure error={judging.failure} onRetry={judging.reload} />}
      <fieldset class="search-choice row">
        <legend class="visually-hidden">Ranking to show</legend>
        {rankings.map((one) => (
          <Button
            look="small"
            key={one}
            label={TITLES[one]}
            aria-pressed={shown === one}
            onClick={() => setShown(one)}
          />
        ))}
      </fieldset>
      <div class="search-columns">
        {rankings.map((one) => (
          <section
            key={one}
            class={`list search-column ${shown === one ? 'shown' : ''}`}
            aria-label={TITLES[one]}
            aria-busy={searches[one].isBusy}
            data-searched={searches[one].order?.query}
          >
            <header class="row">
              <h2 class="one-line grow">{TITLES[one]}</h2>
              {searches[one].order && searches[one].answer && (
                <SameInCode place={place} order={searches[one].order} />
              )}
            </header>
            <RankingBody {...props} ranking={one} comparing={comparing} />
          </section>
        ))}
      </div>
    </>
  )
}

function RankingBody({
  ranking,
  comparing,
  ...props
}: ResultsProps & { readonly ranking: Ranking; readonly comparing?: Comparing }) {
  const { searches, place, shownColumns, onRerank, onFilter } = props
  const { answer, failure, isBusy, order, retry } = searches[ranking]
  const { project, name } = place
  if (failure instanceof NotReranked) {
    return (
      <Failure title="The reranking model failed" error={failure} onRetry={retry}>
        <p class="small">
          If it fails again, check its address, name and key{' '}
          <a href={addressOf.knowledgeBaseSettings(project, name)}>in the settings</a>. Searches
          work without it.
        </p>
      </Failure>
    )
  }
  if (failure) return <Failure error={failure} onRetry={retry} />
  if (answer === undefined || order === undefined) {
    if (ranking !== 'reranked') return <Loading what="results" />
    if (isBusy) return <Progress label="The reranking model reads the results" />
    return (
      <EmptyState icon="search" title="Press Enter to rerank">
        <Button label="Rerank now" onClick={onRerank} />
      </EmptyState>
    )
  }
  return (
    <>
      <Warnings of={answer.warnings} />
      {answer.results.length === 0 && <Nothing {...{ place, order, ranking }} />}
      <ol class="list">
        {answer.results.map((hit) => (
          <SearchHit
            key={hit.chunk_id}
            question={order.query}
            {...{ hit, ranking, place, shownColumns, onFilter, comparing }}
          />
        ))}
      </ol>
    </>
  )
}

/** A semantic search always finds something unless there was nothing to search. */
function Nothing(props: {
  readonly place: KnowledgeBaseName
  readonly order: SearchOrder
  readonly ranking: Ranking
}) {
  const { place, order, ranking } = props
  if (ranking === 'keyword') return <p class="quiet">No chunk contains these words.</p>
  if (Object.keys(order.filters ?? {}).length > 0) {
    return (
      <EmptyState icon="filter" title="No chunk matches the filter">
        <p>Remove a condition above. No chunk meets all of them.</p>
      </EmptyState>
    )
  }
  return (
    <EmptyState icon="database" title="This knowledge base is empty">
      <a class="button primary" href={addressOf.addDocuments(place.project, place.name)}>
        Add documents
      </a>
    </EmptyState>
  )
}

interface SameInCodeProps {
  readonly place: KnowledgeBaseName
  readonly order: SearchOrder
}

/** The SQL statement and the HTTP request that return the same results, for copying. */
function SameInCode(props: SameInCodeProps) {
  return (
    <DialogButton look="small" label="SQL, HTTP">
      {(onClose) => (
        <Dialog title="This search in SQL and HTTP" size="wide" onClose={onClose}>
          <Code {...props} />
        </Dialog>
      )}
    </DialogButton>
  )
}

function Code({ place, order }: SameInCodeProps) {
  const { project, name } = place
  const explained = useResource(
    (signal) => search(place, { ...order, explain: true }, signal),
    [project, name, order],
  )
  const { highlight: _, ...sent } = order
  const curl = curlOf(`${location.origin}${searchPath(project, name)}`, sent)
  return (
    <Loaded of={explained} what="the statement">
      {({ explain }) => (
        <div class="stack">
          <CodeText title="SQL" text={explain?.sql ?? ''}>
            {explain?.sql && (
              <a class="button small" href={addressOf.statement(explain.sql)}>
                Open in SQL
              </a>
            )}
          </CodeText>
          <CodeText title="HTTP" text={curl} />
        </div>
      )}
    </Loaded>
  )
}

const SHOWN_CHARS_MAX = 10_000

function CodeText(props: {
  readonly title: string
  readonly text: string
  readonly children?: ComponentChildren
}) {
  const { title, text, children } = props
  return (
    <>
      <div class="row">
        <h3 class="grow">{title}</h3>
        <CopyButton text={text} />
        {children}
      </div>
      <pre class="panel pre">
        {text.slice(0, SHOWN_CHARS_MAX)}
        {text.length > SHOWN_CHARS_MAX && '\n… (Copy includes it all)'}
      </pre>
    </>
  )
}

/** Quotes for a POSIX shell: single quotes may contain everything except a single quote. */
function curlOf(url: string, json: unknown): string {
  const body = JSON.stringify(json).replaceAll("'", "'\\''")
  return `curl -X POST '${url}' \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`
}
