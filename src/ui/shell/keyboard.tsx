/** Keys that do something in the view that is shown. `?` lists them. */
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Dialog } from '../components/dialog.tsx'

interface Shortcut {
  /** As `KeyboardEvent.key` names it, with `Mod+` before it for Ctrl or Command: `/`, `g h`, `Mod+Enter`. */
  readonly keys: string
  readonly does: string
  readonly run: () => void
}

/** The second key of two comes within this time. */
const SECOND_KEY_MS = 1000

const shortcuts = signal<readonly Shortcut[]>([])
const isHelpOpen = signal(false)

/** Adds keys while the view is there. Plain keys do nothing while somebody types. */
export function useShortcuts(added: readonly Shortcut[]): void {
  const latest = useRef(added)
  latest.current = added
  useEffect(() => {
    const mine = latest.current.map(({ keys, does }, index) => {
      return { keys, does, run: () => latest.current[index]?.run() }
    })
    shortcuts.value = [...shortcuts.value, ...mine]
    return () => {
      shortcuts.value = shortcuts.value.filter((one) => !mine.includes(one))
    }
  }, [])
}

export function Keyboard() {
  useEffect(() => {
    let first = { key: '', at: 0 }
    const pressed = (event: KeyboardEvent) => {
      const hasMod = event.ctrlKey || event.metaKey
      if (event.defaultPrevented || event.altKey) return
      if (!hasMod && (isTyping(event.target) || document.querySelector('dialog[open]'))) return
      const key = hasMod ? `Mod+${event.key}` : event.key
      const isSecond = event.timeStamp - first.at < SECOND_KEY_MS
      const names = isSecond ? [`${first.key} ${key}`, key] : [key]
      first = { key, at: event.timeStamp }
      if (key === '?') {
        isHelpOpen.value = true
        return
      }
      const found = names.map((name) => shortcuts.value.findLast(({ keys }) => keys === name))
      const shortcut = found.find((one) => one !== undefined)
      if (shortcut === undefined) return
      event.preventDefault()
      shortcut.run()
    }
    document.addEventListener('keydown', pressed)
    return () => document.removeEventListener('keydown', pressed)
  }, [])
  if (!isHelpOpen.value) return null
  return (
    <Dialog title="Keys" onClose={() => (isHelpOpen.value = false)}>
      <dl class="keys">
        {[...shortcuts.value, HELP].map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              {keys.split(/[ +]/).map((key) => (
                <kbd key={key}>{key === 'Mod' ? 'Ctrl' : key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}

const HELP = { keys: '?', does: 'Show these keys' }

export function showKeys(): void {
  isHelpOpen.value = true
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  // The editor stands in a shadow tree, whose host is what the document sees.
  return target.isContentEditable || target.matches('input, textarea, select, .code-editor')
}
