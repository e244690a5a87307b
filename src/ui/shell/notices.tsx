/** Short messages at the edge of the page: what was done, or what failed where nobody looks any more. */
import { signal } from '@preact/signals'
import { Icon } from '../components/icon.tsx'

const SHOWN_MS = 6000

interface Notice {
  readonly id: number
  readonly kind: 'done' | 'failed'
  readonly text: string
}

const notices = signal<readonly Notice[]>([])

/** Shows what was done, for a few seconds. */
export function tellDone(text: string): void {
  const { id } = added('done', text)
  setTimeout(() => closed(id), SHOWN_MS)
}

/** Shows what failed, until it is closed. */
export function tellFailed(error: unknown): void {
  added('failed', error instanceof Error ? error.message : String(error))
}

function added(kind: Notice['kind'], text: string): Notice {
  const notice = { id: (notices.value.at(-1)?.id ?? 0) + 1, kind, text }
  notices.value = [...notices.value.slice(-3), notice]
  return notice
}

function closed(id: number): void {
  notices.value = notices.value.filter((one) => one.id !== id)
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, kind, text }) => (
        <div key={id} class={`notice ${kind}`}>
          <Icon name={kind === 'done' ? 'check' : 'warning'} />
          <span dir="auto">{text}</span>
          <button
            type="button"
            class="button icon-only quiet"
            aria-label="Close the message"
            onClick={() => closed(id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  )
}
