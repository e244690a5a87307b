/**
 * Calls of the model and of tools on one time axis. It is a table, so that screen readers have its numbers; arrow keys step
 * through it, and each row unfolds.
 */
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { Trace } from '../../api/records.ts'
import { Icon } from '../../components/button.tsx'
import { shownCount, shownDuration } from '../../components/numbers.ts'

export interface Call {
  readonly label: string
  readonly startMs: number
  readonly tookMs: number
  readonly turn?: Trace['turns'][number]
  readonly step?: Trace['steps'][number]
}

/** In the order in which they began. */
export function callsOf({ turns, steps }: Pick<Trace, 'turns' | 'steps'>): readonly Call[] {
  const models = turns.map((turn, index): Call => {
    const { start_ms: startMs, took_ms: tookMs } = turn
    return { label: `Model, turn ${index + 1}`, startMs, tookMs, turn }
  })
  const tools = steps.map((step): Call => {
    const { start_ms: startMs, took_ms: tookMs } = step
    return { label: step.tool, startMs, tookMs, step }
  })
  return [...models, ...tools].sort((a, b) => a.startMs - b.startMs)
}

interface WaterfallProps {
  readonly calls: readonly Call[]
  readonly wholeMs: number
  /** The one that is unfolded. */
  readonly at: number
  readonly onOpen: (index: number) => void
  readonly detailOf: (call: Call) => ComponentChildren
}

const TICKS = [0, 0.25, 0.5, 0.75]
const COLUMNS = 6

export function Waterfall({ calls, wholeMs, at, onOpen, detailOf }: WaterfallProps) {
  const body = useRef<HTMLTableSectionElement>(null)
  const step = (event: KeyboardEvent) => {
    const buttons = [...(body.current?.querySelectorAll<HTMLElement>('.agents-call') ?? [])]
    const index = buttons.findIndex((one) => one.matches(':focus'))
    const last = buttons.length - 1
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: Math.min(last, index + 1),
      ArrowUp: Math.max(0, index - 1),
      Home: 0,
      End: last,
    }
    const next = steps[event.key]
    if (index < 0 || next === undefined) return
    event.preventDefault()
    buttons[next]?.focus()
  }
  return (
    <table class="agents-waterfall" onKeyDown={step}>
      <thead>
        <tr>
          <th scope="col">Call</th>
          <th scope="col" class="agents-axis">
            <span class="visually-hidden">On the time axis</span>
            <span aria-hidden="true" class="agents-ticks">
              {TICKS.map((part) => (
                <span key={part}>{shownDuration(part * wholeMs)}</span>
              ))}
            </span>
          </th>
          <th scope="col" class="number agents-wide-only">
            After
          </th>
          <th scope="col" class="number">
            Took
          </th>
          <th scope="col" class="number agents-wide-only">
            Tokens in
          </th>
          <th scope="col" class="number agents-wide-only">
            Tokens out
          </th>
        </tr>
      </thead>
      <tbody ref={body}>
        {calls.map((call, index) => (
          <Row
            key={index}
            call={call}
            wholeMs={wholeMs}
            isOpen={index === at}
            onOpen={() => onOpen(index)}
            detailOf={detailOf}
          />
        ))}
      </tbody>
    </table>
  )
}

interface RowProps extends Pick<WaterfallProps, 'wholeMs' | 'detailOf'> {
  readonly call: Call
  readonly isOpen: boolean
  readonly onOpen: () => void
}

function Row({ call, wholeMs, isOpen, onOpen, detailOf }: RowProps) {
  const { label, startMs, tookMs, turn } = call
  const usage = turn?.usage
  return (
    <>
      <tr class={isOpen ? 'open' : ''}>
        <td>
          <button type="button" class="agents-call" aria-expanded={isOpen} onClick={onOpen}>
            <Icon name="down" />
            <span class="one-line mono">{label}</span>
          </button>
        </td>
        <td class="agents-axis">
          <Bar call={call} wholeMs={wholeMs} />
        </td>
        <td class="number agents-wide-only">{shownDuration(startMs)}</td>
        <td class="number">{shownDuration(tookMs)}</td>
        <td class="number agents-wide-only">{usage ? shownCount(usage.input_tokens) : ''}</td>
        <td class="number agents-wide-only">{usage ? shownCount(usage.output_tokens) : ''}</td>
      </tr>
      {isOpen && (
        <tr class="agents-detail">
          <td colSpan={COLUMNS}>{detailOf(call)}</td>
        </tr>
      )}
    </>
  )
}

/** Of a model the time until its first piece is paler. */
function Bar({ call: { startMs, tookMs, turn }, wholeMs }: Pick<RowProps, 'call' | 'wholeMs'>) {
  const part = (ms: number) => `${(ms / wholeMs) * 100}%`
  const waitedMs = Math.min(tookMs, turn?.first_piece_ms ?? 0)
  return (
    <span class="agents-lane" aria-hidden="true">
      {waitedMs > 0 && (
        <span
          class="model waiting"
          style={{ insetInlineStart: part(startMs), width: part(waitedMs) }}
        />
      )}
      <span
        class={turn === undefined ? 'tool' : 'model'}
        style={{ insetInlineStart: part(startMs + waitedMs), width: part(tookMs - waitedMs) }}
      />
    </span>
  )
}
