/** Requests that were answered, a line each, and what they come to. */
import { useEffect } from 'preact/hooks'
import type { AnsweredRequest } from '../../api/records.ts'
import { counted, shownDuration, shownTime, timeOf } from '../../format/numbers.ts'

/** `200 requests within 0.4 s, 450 a second · 3 refused · 1 failed · the slowest took 40 ms`. */
export function summaryOf(items: readonly AnsweredRequest[]): string {
  const times = items.map(({ started_at: at }) => timeOf(at).getTime())
  const spanMs = Math.max(...times) - Math.min(...times)
  const count = (from: number, to: number) => {
    return items.filter(({ status }) => status >= from && status < to).length
  }
  const [refused, failed] = [count(400, 500), count(500, 600)]
  const rate = items.length * (1000 / spanMs)
  return [
    counted(items.length, 'request'),
    spanMs > 0 && rate >= 1 ? `${counted(Math.round(rate), 'request')} a second` : '',
    refused > 0 ? `${refused} refused` : '',
    failed > 0 ? `${failed} failed` : '',
    `the slowest took ${shownDuration(Math.max(...items.map(({ ms }) => ms)))}`,
  ]
    .filter((words) => words !== '')
    .join(' · ')
}

interface RequestTableProps {
  readonly items: readonly AnsweredRequest[]
  /** Nothing moves under whoever points at a row, or reads it by keyboard. */
  readonly onHold: (isHeld: boolean) => void
}

export function RequestTable({ items, onHold }: RequestTableProps) {
  // Gone from under the pointer, it is left without an event.
  useEffect(() => () => onHold(false), [])
  return (
    <section
      class="panel flush"
      aria-label="Requests"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
      tabIndex={0}
      onPointerEnter={({ pointerType }) => onHold(pointerType === 'mouse')}
      onPointerLeave={() => onHold(false)}
      onFocus={() => onHold(true)}
      onBlur={() => onHold(false)}
    >
      <table class="stacked">
        <thead>
          <tr>
            <th>When</th>
            <th>Request</th>
            <th>Status</th>
            <th class="number">Took</th>
            <th>Who</th>
          </tr>
        </thead>
        <tbody>
          {items.map((one, index) => (
            <tr key={`${one.request_id} ${index}`}>
              <td class="operations-when" title={shownTime(one.started_at)}>
                {CLOCK.format(timeOf(one.started_at))}
              </td>
              <td class="mono stacked-first" dir="auto" title={`Request ${one.request_id}`}>
                {one.method} {one.path}
              </td>
              <td>
                <span class={`badge ${lookOf(one.status)}`}>
                  {one.status}
                  {one.code !== null && ` ${one.code}`}
                </span>
              </td>
              <td class="number operations-when">
                {one.ms < 1 ? '< 1 ms' : shownDuration(one.ms)}
              </td>
              <td dir="auto">{whoOf(one)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function whoOf({ principal, is_from_page: isFromPage }: AnsweredRequest): string {
  const page = isFromPage ? 'page' : ''
  return [principal ?? '', page].filter((words) => words !== '').join(' · ') || '–'
}

/** Of one day mostly, and many within a second. */
const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

function lookOf(status: number): string {
  if (status >= 500) return 'bad'
  return status >= 400 ? 'warn' : 'good'
}
