/**
 * What an agent did before it answered: a folded summary, and inside it each tool call with input
 * and output.
 */

import { useState } from 'preact/hooks'
import { isObject, parsedJson } from '../../../../core/json.ts'
import type { Trace } from '../../../api/records.ts'
import { path } from '../../../api/request.ts'
import { Button, CopyButton } from '../../../components/button.tsx'
import { counted, shownDuration } from '../../../components/numbers.ts'
import { Details, Loaded } from '../../../components/record-list.tsx'
import { useRequest } from '../../../components/resource.ts'
import type { AskedStep } from './asked-turn.ts'

interface StepListProps {
  readonly steps: readonly AskedStep[]
  readonly project: string
}

export function StepList({ steps, project }: StepListProps) {
  return (
    <details class="agents-steps small">
      <summary class="quiet">{summaryOf(steps)}</summary>
      <Steps steps={steps} project={project} />
    </details>
  )
}

interface KeptStepsProps {
  readonly traceId: string
  readonly count: number
  readonly project: string
}

/** Reads the steps of a turn that this page did not watch, from its trace. */
export function KeptSteps({ traceId, count, project }: KeptStepsProps) {
  return (
    <Details
      class="agents-steps small"
      head={<summary class="quiet">{counted(count, 'step')}</summary>}
    >
      <TraceSteps traceId={traceId} project={project} />
    </Details>
  )
}

function TraceSteps({ traceId, project }: Omit<KeptStepsProps, 'count'>) {
  const trace = useRequest<Trace>(path`/api/traces/${traceId}`)
  return (
    <Loaded of={trace} what="the steps">
      {({ steps }) => {
        const shown = steps.map((step) => ({
          action: { tool: step.tool, tool_input: step.input, log: '' },
          observation: step.observation,
          startedAtMs: step.start_ms,
          endedAtMs: step.start_ms + step.took_ms,
        }))
        return <Steps steps={shown} project={project} />
      }}
    </Loaded>
  )
}

/** Returns a summary such as `Searched 2 knowledge bases, ran 1 statement, 0.4 s`. */
export function summaryOf(steps: readonly AskedStep[]): string {
  const inputs = (tool: string) => steps.filter(({ action }) => action.tool === tool)
  const searches = inputs('kb_query_tool')
  const names = searches.flatMap(({ action }) => {
    return [...action.tool_input.matchAll(/\bFROM\s+([\w."`$-]+)/gi)].map(([, name = '']) => {
      return name.replace(/["`]/g, '').toLowerCase()
    })
  })
  const searched = Math.max(new Set(names).size, Math.min(1, searches.length))
  const ran = inputs('sql_db_query').length
  const others = steps.length - searches.length - ran
  const isRunning = steps.some(({ endedAtMs }) => endedAtMs === undefined)
  const tookMs = steps.reduce((sum, { startedAtMs, endedAtMs = startedAtMs }) => {
    return sum + endedAtMs - startedAtMs
  }, 0)
  const words = [
    searched > 0 ? `searched ${counted(searched, 'knowledge base')}` : '',
    ran > 0 ? `ran ${counted(ran, 'statement')}` : '',
    others > 0 ? counted(others, ran + searched > 0 ? 'other step' : 'step') : '',
    isRunning ? '…' : shownDuration(tookMs),
  ]
  const text = words.filter(Boolean).join(', ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function Steps({ steps, project }: StepListProps) {
  return (
    <ol class="list" aria-label="Steps">
      {steps.map((step, index) => (
        <li key={index}>
          <details>
            <summary>
              <span class="mono">{step.action.tool}</span>
              <span class="one-line quiet small mono">{gistOf(step.action.tool_input)}</span>
              {step.observation?.startsWith('Error') && <span class="badge bad">error</span>}
              <span class="quiet small">
                {step.endedAtMs === undefined
                  ? 'running …'
                  : shownDuration(step.endedAtMs - step.startedAtMs)}
              </span>
            </summary>
            {thoughtOf(step.action.log) !== '' && (
              <p class="small quiet pre">{thoughtOf(step.action.log)}</p>
            )}
            <ToolInput input={step.action.tool_input} project={project} />
            {step.observation !== undefined && <Long label="Result" text={step.observation} />}
          </details>
        </li>
      ))}
    </ol>
  )
}

function thoughtOf(log: string): string {
  return log.split(/^Action: /m, 1)[0]?.trim() ?? ''
}

const GIST_CHARS = 160

/** The start of a tool's input, on one line. */
export function gistOf(input: string): string {
  const text = (sqlOf(input) ?? input).slice(0, 2 * GIST_CHARS)
  return text.replace(/\s+/g, ' ').slice(0, GIST_CHARS)
}

/** Shows SQL formatted, with a link to the editor. */
export function ToolInput(props: { readonly input: string; readonly project: string }) {
  const { input, project } = props
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

/** The SQL in the input, which is a statement or an object with one; undefined if there is none. */
function sqlOf(input: string): string | undefined {
  if (/^\s*(SELECT|WITH|EXPLAIN)\b/i.test(input)) return input
  const fields = parsedJson(input)
  if (!isObject(fields)) return undefined
  const texts = Object.values(fields).filter((value) => typeof value === 'string')
  return texts.find((text) => /^\s*(SELECT|WITH|EXPLAIN)\b/i.test(text))
}

const SHOWN_CHARS = 4000

export function Long({ label, text }: { readonly label: string; readonly text: string }) {
  const [isWhole, setIsWhole] = useState(false)
  const isCut = text.length > SHOWN_CHARS && !isWhole
  return (
    <figure class="agents-long">
      <figcaption class="small quiet">{label}</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by keyboard */}
      <pre tabIndex={0}>{isCut ? text.slice(0, SHOWN_CHARS) : text}</pre>
      {isCut && <Button look="small" label="Show all" onClick={() => setIsWhole(true)} />}
    </figure>
  )
}
