/**
 * The palette: opens anything by name. A shortcut opens it, arrow keys move in its list, Enter or
 * Escape closes it.
 */
import { signal } from '@preact/signals'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type ProjectContents, projects } from '../api/catalog.ts'
import { may } from '../api/session.ts'
import { Icon, type IconName } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { shownProject } from '../components/numbers.ts'
import { addressOf, isForWriting, type NamedTab, tabsOf } from './addresses.ts'

const SHOWN_MAX = 50

const isOpen = signal(false)

export function openPalette(): void {
  isOpen.value = true
}

const isMac = /mac|iphone|ipad/i.test(navigator.platform)

/** The keys that open the palette, as people write them. */
export const PALETTE_KEYS = isMac ? '⌘ K' : 'Ctrl K'

export function Palette() {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const hasMod = event.ctrlKey || event.metaKey
      // With Caps Lock on, letters arrive as capitals.
      if (event.defaultPrevented || !hasMod || event.altKey || event.shiftKey) return
      if (event.key.toLowerCase() !== 'k') return
      event.preventDefault()
      // If another dialog is open, the palette stays closed.
      if (isOpen.value || document.querySelector('dialog[open]') === null)
        isOpen.value = !isOpen.value
    }
    document.addEventListener('keydown', pressed)
    return () => document.removeEventListener('keydown', pressed)
  }, [])
  return isOpen.value ? <OpenPalette /> : null
}

function OpenPalette() {
  const { route } = useLocation()
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const shown = found(destinations(projects.value ?? [], may('write')), typed, SHOWN_MAX)
  const close = () => (isOpen.value = false)
  const go = ({ href }: Destination) => {
    close()
    if (href.startsWith('/docs')) location.assign(href)
    else route(href)
  }
  const pressed = (event: KeyboardEvent) => {
    const next = nextAt(event.key, at, shown.length)
    if (next !== undefined) setAt(next)
    const chosen = shown[at]
    if (event.key === 'Enter' && !event.isComposing && chosen !== undefined) go(chosen)
    else if (next === undefined) return
    event.preventDefault()
  }
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [at, typed])
  return (
    <Dialog title="Go to" onClose={close}>
      <input
        type="text"
        role="combobox"
        aria-label="Name of a view, a knowledge base or an agent"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={shown.length > 0 ? `${id}-${at}` : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder="Type a name"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={pressed}
      />
      <div ref={list} class="palette-list" role="listbox" id={`${id}-list`} aria-label="Places">
        {shown.map((one, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field above
          <div
            key={one.href}
            id={`${id}-${index}`}
            class="entry"
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => go(one)}
          >
            <Icon name={one.icon} />
            <bdi class="one-line grow">{one.label}</bdi>
            <bdi class="small quiet">{one.about}</bdi>
          </div>
        ))}
      </div>
      <p class="small quiet" role="status">
        {shown.length === 0 && 'No match'}
        {shown.length === SHOWN_MAX && `The first ${SHOWN_MAX} are shown. Type more of the name`}
      </p>
    </Dialog>
  )
}

/** The list position that a key leads to; undefined for other keys. */
function nextAt(key: string, at: number, count: number): number | undefined {
  if (count === 0) return undefined
  if (key === 'ArrowDown') return (at + 1) % count
  if (key === 'ArrowUp') return (at + count - 1) % count
  if (key === 'PageDown') return Math.min(at + 8, count - 1)
  if (key === 'PageUp') return Math.max(at - 8, 0)
  return undefined
}

// All places that can be opened by name, and a search over them.

interface Destination {
  readonly href: string
  readonly label: string
  /** The kind and location, such as `knowledge base in default`. */
  readonly about: string
  readonly icon: IconName
  /** Whether it is a part of something else, found only by typing. */
  readonly isPart?: boolean
}

export const VIEWS: readonly Destination[] = [
  { href: '/', label: 'Home', about: 'view', icon: 'home' },
  { href: '/sql', label: 'SQL', about: 'view', icon: 'sql' },
  { href: addressOf.connections(), label: 'Connections', about: 'view', icon: 'link' },
  { href: '/operations', label: 'Operations', about: 'view', icon: 'gauge' },
  {
    href: addressOf.newKnowledgeBase(),
    label: 'New knowledge base',
    about: 'create',
    icon: 'plus',
  },
  { href: addressOf.newAgent(), label: 'New agent', about: 'create', icon: 'plus' },
  { href: '/docs', label: 'Documentation', about: 'manual', icon: 'book' },
]

export function destinations(
  projects: readonly ProjectContents[],
  mayWrite: boolean,
): readonly Destination[] {
  const all = [...VIEWS, ...projects.flatMap(ofProject)]
  return mayWrite ? all : all.filter(({ href }) => !isForWriting(href))
}

export function ofProject(project: ProjectContents): readonly Destination[] {
  const { name: of, knowledgeBases, agents } = project
  const where = shownProject(of)
  return [
    ...knowledgeBases.flatMap(({ name }) => {
      const whole = { label: name, about: `knowledge base in ${where}`, icon: 'database' } as const
      return withParts(whole, tabsOf.knowledgeBase(of, name))
    }),
    ...agents.flatMap(({ name }) => {
      const whole = { label: name, about: `agent in ${where}`, icon: 'agent' } as const
      return withParts(whole, tabsOf.agent(of, name))
    }),
  ]
}

function withParts(whole: Omit<Destination, 'href'>, tabs: readonly NamedTab[]) {
  return tabs.map(({ href, label, icon }, index) => {
    if (index === 0) return { ...whole, href }
    return { ...whole, href, icon, label: `${whole.label} › ${label}`, isPart: true }
  })
}

/** Every word, best first: whole names, then prefixes. Without words, the top level. */
export function found(
  all: readonly Destination[],
  typed: string,
  countMax: number,
): readonly Destination[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return all.filter(({ isPart }) => isPart !== true).slice(0, countMax)
  return all
    .map((one) => ({ one, rank: rankOf(one, words) }))
    .filter(({ rank }) => rank < NOT_FOUND)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, countMax)
    .map(({ one }) => one)
}

const NOT_FOUND = 100

function rankOf({ label, about, href, isPart }: Destination, words: readonly string[]): number {
  const name = label.toLowerCase()
  // Includes the address, because it contains a project's real name.
  const text = `${name} ${about} ${href}`.toLowerCase()
  if (!words.every((word) => text.includes(word))) return NOT_FOUND
  const typed = words.join(' ')
  const byName = name === typed ? 0 : name.startsWith(typed) ? 1 : name.includes(typed) ? 2 : 3
  return byName * 2 + (isPart === true ? 1 : 0)
}
