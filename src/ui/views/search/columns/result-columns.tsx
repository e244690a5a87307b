/** The columns beside each other; on a phone one of them, with buttons for the others. */
import { useState } from 'preact/hooks'
import type { SearchHit as Hit } from '../../../api/search.ts'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading, Progress } from '../../../components/progress.tsx'
import { addressOf } from '../../../shell/addresses.ts'
import type { KnowledgeBaseAddress } from '../../knowledge-base/knowledge-base-frame.tsx'
import type { Judging } from '../judgments/judging.ts'
import { COLUMNS, type ColumnName, type LabSettings, orderOf, type Ranks } from '../lab-settings.ts'
import type { ColumnStates } from './column-search.ts'
import { SameElsewhere } from './same-elsewhere.tsx'
import { type HitActions, SearchHit } from './search-hit.tsx'

const TITLES: Readonly<Record<ColumnName, string>> = {
  vector: 'Meaning (vectors)',
  keyword: 'Words (keywords)',
  hybrid: 'Both (hybrid)',
  reranked: 'Reranked',
}

interface ResultColumnsProps {
  readonly place: KnowledgeBaseAddress
  readonly settings: LabSettings
  readonly states: ColumnStates
  readonly ranks: Ranks
  readonly hasReranker: boolean
  readonly lookedAt: string | null
  readonly onRerank: () => void
  readonly gradeOf: Judging['gradeOf']
  readonly actions: HitActions
}

export function ResultColumns(props: ResultColumnsProps) {
  const [shown, setShown] = useState<ColumnName>('hybrid')
  const columns = COLUMNS.filter((column) => column !== 'reranked' || props.hasReranker)
  return (
    <>
      <fieldset class="search-choice row">
        <legend class="visually-hidden">Column to show</legend>
        {columns.map((column) => (
          <button
            key={column}
            type="button"
            class="button small"
            aria-pressed={shown === column}
            onClick={() => setShown(column)}
          >
            {TITLES[column]}
          </button>
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
  const { place, settings, states } = props
  const state = states[column]
  const order = orderOf(column, settings)
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
  const { states, onRerank } = props
  const { answer, failure, isBusy, order, retry } = states[column]
  if (failure) return <Failure error={failure} onRetry={retry} />
  if (answer === undefined || order === undefined) {
    if (isBusy && column === 'reranked') return <Progress label="The reranking model reads …" />
    if (isBusy) return <Loading what="results" />
    return (
      <EmptyState icon="search" title="Press Enter to rerank">
        <button type="button" class="button" onClick={onRerank}>
          Rerank now
        </button>
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

interface HitsProps extends Omit<ColumnProps, 'isShown'> {
  readonly question: string
  readonly hits: readonly Hit[]
}

function Hits({ column, question, hits, place, ranks, lookedAt, gradeOf, actions }: HitsProps) {
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
          isLookedAt={lookedAt === hit.chunk_id}
          grade={gradeOf(question, hit.id)}
          actions={actions}
        />
      ))}
    </ol>
  )
}

/** A line above the others: an empty column would take the room of what was found. */
function NoReranker({ place }: { readonly place: KnowledgeBaseAddress }) {
  const settings = addressOf.knowledgeBaseSettings(place.project, place.name)
  return (
    <section class="small quiet" aria-label={TITLES.reranked}>
      There is no reranking model, which would read the best candidates once more and order them
      anew. <a href={settings}>Choose one in the settings</a>.
    </section>
  )
}
