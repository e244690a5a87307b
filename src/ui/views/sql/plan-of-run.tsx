/** How a statement is executed: what the search planner chose, and DuckDB's drawing of it. */
import type { Run } from './runs.ts'

const CHOICES: Readonly<Record<string, string>> = {
  search: 'Search',
  source: 'Sent to a remote database',
}

export function isPlan(columnNames: readonly string[]): boolean {
  return columnNames.join() === 'explain_key,explain_value'
}

export function PlanOfRun({ run }: { readonly run: Pick<Run, 'rows'> }) {
  const said = run.rows.map(([key, value]) => ({ key: String(key), text: String(value) }))
  const choices = said.filter(({ key }) => Object.hasOwn(CHOICES, key))
  return (
    <div class="stack">
      {choices.length > 0 && (
        <ul class="sql-choices" aria-label="How it runs">
          {choices.map(({ key, text }, index) => (
            <li key={index}>
              <strong class="small">{CHOICES[key]}</strong>
              <span dir="auto">{text}</span>
            </li>
          ))}
        </ul>
      )}
      {said
        .filter((one) => !choices.includes(one))
        .map(({ key, text }) => (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
          <pre key={key} class="sql-plan-text" tabIndex={0}>
            {text}
          </pre>
        ))}
    </div>
  )
}
