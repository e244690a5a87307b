/** The columns beside each other; on a phone one of them, with buttons for the others. */
import { useState } from 'preact/hooks'
import {
  type SearchHit as Hit,
  type KnowledgeBaseName,
  type SearchOrder,
  search,
  searchPath,
} from '../../../api/knowledge-bases.ts'
import { Button, CopyButton } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { EmptyState, Failure, Loading, Progress } from '../../../components/failure.tsx'
import { useResource } from '../../../components/resource.ts'
import { addressOf } from '../../../shell/addresses.ts'
import type { Judging } from '../judgments/judging.ts'
import { type ColumnStates, NotReranked } from './column-search.ts'
import { COLUMNS, type ColumnName, type Ranks } from './lab-settings.ts'
import { type HitActions, SearchHit } from './search-hit.tsx'

const TITLES: Readonly<Record<ColumnName, string>> = {
  vector: 'Meaning (vectors)',
  keyword: 'Words (keywords)',
  hybrid: 'Both (hybrid)',
  reranked: 'Reranked',
}

/** What is searched now; null: nothing. */
export type ColumnOrders = Readonly<Record<ColumnName, SearchOrder | null>>

interface ResultColumnsProps {
  readonly place: KnowledgeBaseName
  readonly orders: ColumnOrders
  readonly states: ColumnStates
  readonly ranks: Ranks
  readonly hasReranker: boolean
  readonly lookedAt: string | null
  readonly onRerank: () => void
  readonly onRetry: () => void
  readonly gradeOf: Judging['gradeOf']
  readonly actions: HitActions
}

export function ResultColumns(props: ResultColumnsProps) {
  const [shown, setShown] = useState<ColumnName>('hybrid')
  const columns = COLUMNS.filter((column) => column !== 'reranked' || props.hasReranker)
  const { vector, keyword, hybrid } = props.states
  const isSameFailure = [keyword, hybrid].every(({ failure }) => {
    return failure !== undefined && failure.message === vector.failure?.message
  })
  if (isSameFailure && vector.failure) {
    return <Failure error={vector.failure} onRetry={() => props.onRetry()} />
  }
  if (vector.answer?.results.length === 0 && vector.order) {
    return <NothingToFind place={props.place} order={vector.order} />
  }
  return (
    <>
      <fieldset class="search-choice row">
        <legend class="visually-hidden">Column to show</legend>
        {columns.map((column) => (
          <Button
            look="small"
            key={column}
            aria-pressed={shown === column}
            onClick={() => setShown(column)}
          >
            {TITLES[column]}
          </Button>
        ))}
      </fieldset>
      {!props.hasReranker && <NoReranker place={props.place} />}
      <div class="search-columns">
        {columns.map((column) => (
          <Column key={column} column={column} isShown={shown === column} {...props} />
        ))}
      </div>
    </>
  )
}

interface ColumnProps extends ResultColumnsProps {
  readonly column: ColumnName
  readonly isShown: boolean
}

function Column({ column, isShown, ...props }: ColumnProps) {
  const { place, orders, states } = props
  const state = states[column]
  const order = orders[column]
  return (
    <section
      class={`search-column ${isShown ? 'shown' : ''}`}
      aria-label={TITLES[column]}
      aria-busy={state.isBusy}
      data-searched={state.order?.query}
    >
      <header class="row search-column-head">
        <h2 class="one-line">{TITLES[column]}</h2>
        <span class="grow" />
        {order !== null && state.answer && <SameElsewhere place={place} order={order} />}
      </header>
      <ColumnBody column={column} {...props} />
    </section>
  )
}

function ColumnBody({ column, ...props }: Omit<ColumnProps, 'isShown'>) {
  const { states, place, onRerank } = props
  const { answer, failure, isBusy, order, retry } = states[column]
  if (failure instanceof NotReranked) {
    return <RerankerFailed error={failure} place={place} onRetry={retry} />
  }
  if (failure) return <Failure error={failure} onRetry={retry} />
  if (answer === undefined || order === undefined) {
    if (isBusy && column === 'reranked') return <Progress label="The reranking model reads …" />
    if (column !== 'reranked') return <Loading what="results" />
    return (
      <EmptyState icon="search" title="Press Enter to rerank">
        <Button label="Rerank now" onClick={onRerank} />
      </EmptyState>
    )
  }
  return (
    <>
      {(answer.warnings ?? []).map((warning) => (
        <p key={warning} class="search-warning small pre" dir="auto">
          {warning}
        </p>
      ))}
      {answer.results.length === 0 && <p class="quiet">Nothing was found in this way.</p>}
      <Hits column={column} question={order.query} hits={answer.results} {...props} />
    </>
  )
}

interface RerankerFailedProps {
  readonly error: Error
  readonly place: KnowledgeBaseName
  readonly onRetry: () => void
}

function RerankerFailed({ error, place, onRetry }: RerankerFailedProps) {
  return (
    <>
      <Failure title="The reranking model did not do it" error={error} onRetry={onRetry} />
      <p class="small">
        Where it fails again, look at its address, name and key{' '}
        <a href={addressOf.knowledgeBaseSettings(place.project, place.name)}>in the settings</a>.
        Searches without it work meanwhile.
      </p>
    </>
  )
}

interface HitsProps extends Omit<ColumnProps, 'isShown'> {
  readonly question: string
  readonly hits: readonly Hit[]
}

function Hits({ column, question, hits, ...props }: HitsProps) {
  const { place, states, ranks, lookedAt, gradeOf, actions } = props
  const answered = COLUMNS.filter((one) => {
    // The reranking model may still read what another text found.
    const isOfThis = one !== 'reranked' || states[one].order?.query === question
    return states[one].answer !== undefined && isOfThis
  })
  return (
    <ol class="search-hits">
      {hits.map((hit) => (
        <SearchHit
          key={hit.chunk_id}
          hit={hit}
          question={question}
          column={column}
          place={place}
          places={ranks.get(hit.chunk_id) ?? {}}
          answered={answered}
          isLookedAt={lookedAt === hit.chunk_id}
          grade={gradeOf(question, hit.id)}
          actions={actions}
        />
      ))}
    </ol>
  )
}

/** Every chunk is near to a text, more or less: where no vector is found, there is no chunk. */
function NothingToFind({ place, order }: { place: KnowledgeBaseName; order: SearchOrder }) {
  if (Object.keys(order.filters ?? {}).length > 0) {
    return (
      <EmptyState icon="filter" title="No chunk fits the filter">
        <p>Remove a condition above. No text finds anything with these.</p>
      </EmptyState>
    )
  }
  return (
    <EmptyState icon="database" title="There is nothing in this knowledge base yet">
      <a class="button primary" href={addressOf.addDocuments(place.project, place.name)}>
        Add documents
      </a>
    </EmptyState>
  )
}

/** A line above the others: an empty column would take the room of what was found. */
function NoReranker({ place }: { readonly place: KnowledgeBaseName }) {
  const settings = addressOf.knowledgeBaseSettings(place.project, place.name)
  return (
    <section class="small quiet" aria-label={TITLES.reranked}>
      There is no reranking model, which would read the best candidates once more and order them
      anew. <a href={settings}>Choose one in the settings</a>.
    </section>
  )
}

interface SameElsewhereProps {
  readonly place: KnowledgeBaseName
  readonly order: SearchOrder
}

/** The statement and the request that give the same answer, to copy. */
function SameElsewhere(props: SameElsewhereProps) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Button look="small" label="SQL, HTTP" onClick={() => setIsOpen(true)} />
      {isOpen && (
        <Dialog title="The same by SQL and by HTTP" size="wide" onClose={() => setIsOpen(false)}>
          <Both {...props} />
        </Dialog>
      )}
    </>
  )
}

function Both({ place, order }: SameElsewhereProps) {
  const { project, name } = place
  const explained = useResource(
    (signal) => search(place, { ...order, explain: true }, signal),
    [project, name, order],
  )
  if (explained.failure) return <Failure error={explained.failure} onRetry={explained.reload} />
  if (explained.data === undefined) return <Loading what="the statement" />
  const sql = explained.data.explain?.sql ?? ''
  const { highlight: _, ...sent } = order
  const curl = curlOf(`${location.origin}${searchPath(project, name)}`, sent)
  return (
    <div class="stack">
      <div class="row">
        <h3>SQL</h3>
        <span class="grow" />
        <CopyButton text={sql} label="Copy the statement" />
        {sql.length <= OPENED_CHARS_MAX && <OpenInSql sql={sql} project={project} />}
      </div>
      <pre class="panel pre">{shownOf(sql)}</pre>
      <div class="row">
        <h3>HTTP</h3>
        <span class="grow" />
        <CopyButton text={curl} label="Copy the request" />
      </div>
      <pre class="panel pre">{shownOf(curl)}</pre>
    </div>
  )
}

/** What stands behind `#` stays in the browser: proxies refuse long addresses. */
const QUERY_CHARS_MAX = 4000
const OPENED_CHARS_MAX = 100_000

function OpenInSql({ sql, project }: { readonly sql: string; readonly project: string }) {
  const words = String(new URLSearchParams({ q: sql, project }))
  return (
    <a class="button small" href={`/sql${words.length > QUERY_CHARS_MAX ? '#' : '?'}${words}`}>
      Open in SQL
    </a>
  )
}

const SHOWN_CHARS_MAX = 10_000

/** Of a filter with thousands of documents the beginning; all of it is copied. */
function shownOf(text: string): string {
  if (text.length <= SHOWN_CHARS_MAX) return text
  const rest = (text.length - SHOWN_CHARS_MAX).toLocaleString('en')
  return `${text.slice(0, SHOWN_CHARS_MAX)}\n… and ${rest} characters more, which are copied too`
}

/** For a POSIX shell, where a text in single quotes holds anything but one. */
function curlOf(url: string, json: unknown): string {
  const body = JSON.stringify(json).replaceAll("'", "'\\''")
  return `curl -X POST '${url}' \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`
}
