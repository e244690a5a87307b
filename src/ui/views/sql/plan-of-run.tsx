/** How a statement is done: what the search planner chose, and the steps of the database as a tree. */
import type { Cell } from '../../api/sql.ts'
import { counted, shownCount, shownDuration } from '../../components/numbers.ts'

/** As `EXPLAIN (FORMAT JSON)` gives it. */
interface PlanNode {
  readonly operator: string
  readonly details: Readonly<Record<string, string | readonly string[]>>
  readonly estimated_rows: number | null
  readonly rows: number | null
  readonly rows_scanned: number | null
  readonly seconds: number | null
  readonly children: readonly PlanNode[]
}

const CHOICES: Readonly<Record<string, string>> = {
  search: 'Search',
  source: 'Sent to a database elsewhere',
}

export function isPlan(columnNames: readonly string[]): boolean {
  return columnNames.join() === 'explain_key,explain_value'
}

export function PlanOfRun({ rows }: { readonly rows: readonly (readonly Cell[])[] }) {
  const said = rows.map(([key, value]) => ({ key: String(key), text: String(value) }))
  const choices = said.filter(({ key }) => Object.hasOwn(CHOICES, key))
  const plans = said.filter(({ key }) => !Object.hasOwn(CHOICES, key))
  return (
    <div class="stack">
      {choices.length > 0 && (
        <ul class="sql-choices" aria-label="What was chosen">
          {choices.map(({ key, text }, index) => (
            <li key={`${index}`}>
              <strong class="small">{CHOICES[key]}</strong>
              <span dir="auto">{text}</span>
            </li>
          ))}
        </ul>
      )}
      {plans.map(({ key, text }) => {
        const root = treeOf(text)
        return root === undefined ? (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
          <pre key={key} class="sql-plan-text" tabIndex={0}>
            {text}
          </pre>
        ) : (
          <ul key={key} class="sql-plan" aria-label="Steps of the database, the last one first">
            <Chain node={root} totalSeconds={secondsOf(root)} />
          </ul>
        )
      })}
    </div>
  )
}

interface StepProps {
  readonly node: PlanNode
  readonly totalSeconds: number
}

/** Steps of which each feeds the one before it stand below each other; only branches are indented. */
function Chain({ node, totalSeconds }: StepProps) {
  const [only, ...others] = node.children
  const isChain = only !== undefined && others.length === 0
  return (
    <>
      <Step node={node} totalSeconds={totalSeconds} />
      {isChain && <Chain node={only} totalSeconds={totalSeconds} />}
    </>
  )
}

function Step({ node, totalSeconds }: StepProps) {
  const share = totalSeconds > 0 ? (node.seconds ?? 0) / totalSeconds : 0
  const details = Object.entries(node.details).filter(([, value]) => value.length > 0)
  return (
    <li>
      <div class="sql-step">
        <strong>{named(node.operator)}</strong>
        <span class="small quiet">{saidOf(node)}</span>
        {node.seconds !== null && (
          <span class="sql-step-time small">
            <meter
              min={0}
              max={1}
              value={share}
              aria-label={`${Math.round(share * 100)} % of the time`}
            />
            {shownDuration(node.seconds * 1000)}
          </span>
        )}
        {details.length > 0 && (
          <dl class="sql-step-details small">
            {details.map(([name, value]) => (
              <div key={name}>
                <dt class="quiet">{name}</dt>
                <dd dir="auto">{typeof value === 'string' ? value : value.join(', ')}</dd>
              </div>
            ))}
          </dl>
        )}
      </div>
      {node.children.length > 1 && (
        <ul>
          {node.children.map((child, index) => (
            <Chain key={`${index}`} node={child} totalSeconds={totalSeconds} />
          ))}
        </ul>
      )}
    </li>
  )
}

/** `HASH_GROUP_BY`: Hash group by. */
function named(operator: string): string {
  const words = operator.replaceAll('_', ' ').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function saidOf({ rows, estimated_rows: estimate, rows_scanned: scanned }: PlanNode): string {
  const said = [
    ...(rows === null ? [] : [counted(rows, 'row')]),
    ...(estimate === null ? [] : [`about ${shownCount(estimate)} expected`]),
    ...(scanned ? [`${shownCount(scanned)} read`] : []),
  ]
  return said.join(', ')
}

function secondsOf({ seconds, children }: PlanNode): number {
  return (seconds ?? 0) + children.reduce((sum, child) => sum + secondsOf(child), 0)
}

/** @returns undefined: it is a drawing of the database's own */
function treeOf(text: string): PlanNode | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isNode = typeof value === 'object' && value !== null && 'operator' in value
    // The server's shape, as docs/sql.md says.
    return isNode ? (value as PlanNode) : undefined
  } catch {
    return undefined
  }
}
