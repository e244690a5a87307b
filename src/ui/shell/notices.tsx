/** Short messages at the edge of the page: successes, and failures after their view was closed. */
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { Button, Icon } from '../components/button.tsx'

const SHOWN_MS = 6000

interface Notice {
  readonly id: number
  readonly kind: 'done' | 'failed'
  readonly text: string
  /** A link to where the problem can be solved. */
  readonly way?: Way | undefined
}

interface Way {
  readonly label: string
  readonly href: string
}

const notices = signal<readonly Notice[]>([])

/** Shows a success message for a few seconds. */
export function tellDone(text: string): void {
  add('done', text)
}

/** Shows a failure until the user closes it. */
export function tellFailed(error: unknown, way?: Way): void {
  add('failed', error instanceof Error ? error.message : String(error), way)
}

function add(kind: Notice['kind'], text: string, way?: Way): void {
  const notice = { id: (notices.value.at(-1)?.id ?? 0) + 1, kind, text, way }
  notices.value = [...notices.value.slice(-3), notice]
}

function close(id: number): void {
  notices.value = notices.value.filter((one) => one.id !== id)
}

export function Notices() {
  /** Messages stay while the pointer or the keyboard focus is on them. */
  const [isHeld, setIsHeld] = useState(false)
  return (
    <div
      class="notices"
      role="status"
      aria-live="polite"
      onPointerEnter={() => setIsHeld(true)}
      onPointerLeave={() => setIsHeld(false)}
      onFocusIn={() => setIsHeld(true)}
      onFocusOut={() => setIsHeld(false)}
    >
      {notices.value.map((notice) => (
        <ShownNotice key={notice.id} notice={notice} isHeld={isHeld} />
      ))}
    </div>
  )
}

function ShownNotice({ notice, isHeld }: { readonly notice: Notice; readonly isHeld: boolean }) {
  const { id, kind, text, way } = notice
  useEffect(() => {
    if (kind === 'failed' || isHeld) return
    const timer = setTimeout(() => close(id), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [id, kind, isHeld])
  return (
    <div class={`row panel notice ${kind}`}>
      <Icon name={kind === 'done' ? 'check' : 'warning'} />
      <span class="grow">{text}</span>
      {way && (
        <a class="button small" href={way.href}>
          {way.label}
        </a>
      )}
      <Button
        look="icon-only quiet"
        icon="close"
        aria-label="Close the message"
        onClick={() => close(id)}
      />
    </div>
  )
}
