/** Short messages at the edge of the page: what was done, or what failed after its view was left. */
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { Button, Icon } from '../components/button.tsx'

const SHOWN_MS = 6000

interface Notice {
  readonly id: number
  readonly kind: 'done' | 'failed'
  readonly text: string
}

const notices = signal<readonly Notice[]>([])

/** Shows what was done, for a few seconds. */
export function tellDone(text: string): void {
  add('done', text)
}

/** Shows what failed, until it is closed. */
export function tellFailed(error: unknown): void {
  add('failed', error instanceof Error ? error.message : String(error))
}

function add(kind: Notice['kind'], text: string): void {
  const notice = { id: (notices.value.at(-1)?.id ?? 0) + 1, kind, text }
  notices.value = [...notices.value.slice(-3), notice]
}

function close(id: number): void {
  notices.value = notices.value.filter((one) => one.id !== id)
}

export function Notices() {
  /** While the pointer or the keyboard focus is in them, none disappears. */
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
  const { id, kind, text } = notice
  useEffect(() => {
    if (kind === 'failed' || isHeld) return
    const timer = setTimeout(() => close(id), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [id, kind, isHeld])
  return (
    <div class={`notice ${kind}`}>
      <Icon name={kind === 'done' ? 'check' : 'warning'} />
      <span dir="auto">{text}</span>
      <Button
        look="icon-only quiet"
        icon="close"
        aria-label="Close the message"
        onClick={() => close(id)}
      />
    </div>
  )
}
