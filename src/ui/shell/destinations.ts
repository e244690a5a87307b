/** All places that can be opened by name, and a search over them. */

import type { ProjectContents } from '../api/catalog.ts'
import type { IconName } from '../components/button.tsx'
import { shownProject } from '../components/numbers.ts'
import { addressOf, isForWriting } from './addresses.ts'

export interface Destination {
  readonly href: string
  readonly label: string
  /** The kind and location, such as `knowledge base in default`. */
  readonly about: string
  readonly icon: IconName
  /** Whether it is a part of something else, found only by typing. */
  readonly isPart?: boolean
}

const VIEWS: readonly Destination[] = [
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

function ofProject({ name, knowledgeBases, agents }: ProjectContents): readonly Destination[] {
  return [
    ...knowledgeBases.flatMap((one) => ofKnowledgeBase(name, one.name)),
    ...agents.flatMap((one) => ofAgent(name, one.name)),
  ]
}

function ofKnowledgeBase(project: string, name: string): readonly Destination[] {
  const about = `knowledge base in ${shownProject(project)}`
  const part = (label: string, href: string, icon: IconName) => {
    return { href, label: `${name} › ${label}`, about, icon, isPart: true }
  }
  return [
    { href: addressOf.knowledgeBase(project, name), label: name, about, icon: 'database' },
    part('Search', addressOf.searchLab(project, name), 'search'),
    part('Map', addressOf.map(project, name), 'map'),
    part('Add', addressOf.addDocuments(project, name), 'upload'),
    part('Settings', addressOf.knowledgeBaseSettings(project, name), 'settings'),
  ]
}

function ofAgent(project: string, name: string): readonly Destination[] {
  const about = `agent in ${shownProject(project)}`
  const part = (label: string, href: string, icon: IconName) => {
    return { href, label: `${name} › ${label}`, about, icon, isPart: true }
  }
  return [
    { href: addressOf.agent(project, name), label: name, about, icon: 'agent' },
    part('Traces', addressOf.agentTraces(project, name), 'chart'),
    part('Settings', addressOf.agentSettings(project, name), 'settings'),
  ]
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
