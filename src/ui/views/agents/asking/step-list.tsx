/** What an agent did before it answered: each call, folded, with its input, what came back, and its time. */
import { useState } from 'preact/hooks'
import { Button, CopyButton } from '../../../components/button.tsx'
import { shownDuration } from '../../../components/numbers.ts'
import type { AskedStep } from './asked-turn.ts'

export function StepList({
  steps,
  project,
}: {
  readonly steps: readonly AskedStep[]
  readonly project: string
}) {
  return (
    <ol class="agents-steps" aria-label="Steps">
      {steps.map((step, index) => (
        <li key={index}>
          <details>
            <summary>
              <span class="mono">{step.action.tool}</span>
              <span class="one-line quiet small mono" dir="auto">
                {gistOf(step.action.tool_input)}
              </span>
              {step.observation?.startsWith('Error') && <span class="badge bad">error</span>}
              <span class="quiet small agents-took">
                {step.endedAtMs === undefined
                  ? 'running …'
                  : shownDuration(step.endedAtMs - step.startedAtMs)}
              </span>
            </summary>
            {thoughtOf(step.action.log) !== '' && (
              <p class="small quiet pre" dir="auto">
                {thoughtOf(step.action.log)}
              </p>
            )}
            <ToolInput input={step.action.tool_input} project={project} />
            {step.observation !== undefined && (
              <Long label="What came back" text={step.observation} />
            )}
          </details>
        </li>
      ))}
    </ol>
  )
}

/** What the model said before the call; the call itself stands below it. */
function thoughtOf(log: string): string {
  return log.split(/^Action: /m, 1)[0]?.trim() ?? ''
}

const GIST_CHARS = 160

/** The beginning of what a tool was asked, on one line. */
export function gistOf(input: string): string {
  const text = (sqlOf(input) ?? input).slice(0, 2 * GIST_CHARS)
  return text.replace(/\s+/g, ' ').slice(0, GIST_CHARS)
}

/** SQL as it is to be read, with the way into the editor. */
export function ToolInput({
  input,
  project,
}: {
  readonly input: string
  readonly project: string
}) {
  const sql = sqlOf(input)
  if (sql === undefined) return <Long label="Input" text={input} />
  const address = `/sql?${new URLSearchParams({ q: sql, project })}`
  return (
    <div class="stack">
      <Long label="SQL" text={sql} />
      <div class="row">
        <a class="button small" href={address}>
          Open in SQL
        </a>
        <CopyButton text={sql} label="Copy the SQL" />
      </div>
    </div>
  )
}

/** A statement stands in the input as it is, or as a field of it. */
function sqlOf(input: string): string | undefined {
  if (/^\s*(SELECT|WITH|EXPLAIN)\b/i.test(input)) return input
  try {
    const fields: unknown = JSON.parse(input)
    if (typeof fields !== 'object' || fields === null) return undefined
    const found = Object.values(fields).find(
      (value) => typeof value === 'string' && /^\s*(SELECT|WITH|EXPLAIN)\b/i.test(value),
    )
    return typeof found === 'string' ? found : undefined
  } catch {
    return undefined
  }
}

const SHOWN_CHARS = 4000

export function Long({ label, text }: { readonly label: string; readonly text: string }) {
  const [isWhole, setIsWhole] = useState(false)
  const isCut = text.length > SHOWN_CHARS && !isWhole
  return (
    <figure class="agents-long">
      <figcaption class="small quiet">{label}</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by keyboard */}
      <pre tabIndex={0} dir="auto">
        {isCut ? text.slice(0, SHOWN_CHARS) : text}
      </pre>
      {isCut && <Button look="small" label="Show all" onClick={() => setIsWhole(true)} />}
    </figure>
  )
}
