/** The keyboard shortcuts of the current view. `?` lists them. */
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { remember, remembered } from '../components/browser-storage.ts'
import { Dialog } from '../components/dialog.tsx'

interface Shortcut {
  /** The key as in `KeyboardEvent.key`, with `Mod+` for Ctrl or Command: `/`, `g h`. */
  readonly keys: string
  readonly does: string
  readonly run: () => void
}

interface Listed extends Shortcut {
  readonly group: string
}

/** How soon the second of two keys must follow. */
const SECOND_KEY_MS = 1500
const PLAIN_KEYS = 'eider.plain-keys'
const IN_THIS_VIEW = 'In this view'
export const EVERYWHERE = 'Everywhere'

const shortcuts = signal<readonly Listed[]>([])
const isHelpOpen = signal(false)
/** Shortcuts without Ctrl can be turned off, for users with speech input or unsteady hands. */
const hasPlainKeys = signal(remembered(PLAIN_KEYS) !== 'off')

const isMac = /mac|iphone|ipad/i.test(navigator.platform)

/** Adds shortcuts while the view is open. Those without Ctrl do nothing while the user types. */
export function useShortcuts(added: readonly Shortcut[], group = IN_THIS_VIEW): void {
  const latest = useRef(added)
  latest.current = added
  useEffect(() => {
    const mine = latest.current.map(({ keys, does }, index) => {
      return { keys, does, group, run: () => latest.current[index]?.run() }
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
      if (event.defaultPrevented || event.altKey || event.isComposing) return
      const hasMod = event.ctrlKey || event.metaKey
      if (!hasMod && !isForPlainKeys(event)) return
      // With Caps Lock on, letters arrive as capitals.
      const letter = event.key.length === 1 && !event.shiftKey ? event.key.toLowerCase() : event.key
      const key = hasMod ? `Mod+${letter}` : letter
      const isSecond = event.timeStamp - first.at < SECOND_KEY_MS
      const names = isSecond ? [`${first.key} ${key}`, key] : [key]
      first = { key, at: event.timeStamp }
      const found = names.map((name) => shortcuts.value.findLast(({ keys }) => keys === name))
      const shortcut = found.find((one) => one !== undefined)
      if (shortcut === undefined) return
      event.preventDefault()
      shortcut.run()
    }
    document.addEventListener('keydown', pressed)
    return () => document.removeEventListener('keydown', pressed)
  }, [])
  useShortcuts([{ keys: '?', does: 'Show keyboard shortcuts', run: showKeys }], EVERYWHERE)
  return isHelpOpen.value ? <KeysDialog /> : null
}

function isForPlainKeys({ target }: KeyboardEvent): boolean {
  return hasPlainKeys.value && !isTyping(target) && document.querySelector('dialog[open]') === null
}

function KeysDialog() {
  const change = (event: Event) => {
    hasPlainKeys.value =
      event.currentTarget instanceof HTMLInputElement && event.currentTarget.checked
    remember(PLAIN_KEYS, hasPlainKeys.value ? 'on' : 'off')
  }
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (isHelpOpen.value = false)}>
      {[IN_THIS_VIEW, EVERYWHERE].map((group) => (
        <KeyList key={group} group={group} />
      ))}
      <label class="check">
        <input type="checkbox" checked={hasPlainKeys.value} onChange={change} />
        Enable shortcuts without {nameOf('Mod')}
      </label>
    </Dialog>
  )
}

function KeyList({ group }: { readonly group: string }) {
  const listed = shortcuts.value.filter((one) => one.group === group)
  if (listed.length === 0) return null
  return (
    <section class="stack" aria-label={group}>
      <h3>{group}</h3>
      <dl class="keys">
        {listed.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              {keys.split(/(?<=.)[ +](?=.)/).map((key, index) => (
                <kbd key={`${key} ${index}`}>{nameOf(key)}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

const KEY_NAMES: Readonly<Record<string, string>> = {
  Mod: isMac ? '⌘' : 'Ctrl',
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
}

/** The label of the key on this system's keyboards. */
export function nameOf(key: string): string {
  return KEY_NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key)
}

export function showKeys(): void {
  isHelpOpen.value = true
}

const TEXT_INPUT = 'input:not([type="checkbox"], [type="radio"], [type="range"], [type="button"])'

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  // The editor is in a shadow tree, so the document sees only its host element.
  return target.isContentEditable || target.matches(`${TEXT_INPUT}, textarea, select, .code-editor`)
}
