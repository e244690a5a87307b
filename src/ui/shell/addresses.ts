/**
 * The addresses of the views. `page.tsx` maps them to views; the server answers all of them with
 * the same page.
 */
import { path } from '../api/request.ts'
import type { IconName } from '../components/button.tsx'

const inKnowledgeBase = (project: string, name: string) =>
  path`/projects/${project}/knowledge_bases/${name}`
const inAgent = (project: string, name: string) => path`/projects/${project}/agents/${name}`

export const addressOf = {
  newKnowledgeBase: () => '/create/knowledge-base',
  /** Opens and runs a statement. */
  statement: (sql: string) => `/sql?${new URLSearchParams({ q: sql, run: '1' })}`,
  /** The same with a chart beside the rows. */
  chart: (sql: string) => `/sql?${new URLSearchParams({ q: sql, run: '1', as: 'Chart' })}`,
  /** Opens a statement, to be run from there. */
  written: (sql: string) => `/sql?${new URLSearchParams({ q: sql })}`,
  newAgent: () => '/create/agent',
  connections: () => '/connections',
  knowledgeBase: inKnowledgeBase,
  document: (project: string, name: string, id: string) =>
    `${inKnowledgeBase(project, name)}${path`/documents/${id}`}`,
  addDocuments: (project: string, name: string) => `${inKnowledgeBase(project, name)}/add`,
  searchLab: (project: string, name: string) => `${inKnowledgeBase(project, name)}/search`,
  map: (project: string, name: string) => `${inKnowledgeBase(project, name)}/map`,
  knowledgeBaseSettings: (project: string, name: string) =>
    `${inKnowledgeBase(project, name)}/settings`,
  agent: inAgent,
  conversation: (project: string, name: string, id: string) =>
    `${inAgent(project, name)}${path`/conversations/${id}`}`,
  agentSettings: (project: string, name: string) => `${inAgent(project, name)}/settings`,
  agentTraces: (project: string, name: string) => `${inAgent(project, name)}/traces`,
  trace: (id: string) => path`/traces/${id}`,
  /** The address of a chunk in its document, where it is highlighted. */
  chunk: (project: string, name: string, place: ChunkPlace) =>
    `${addressOf.document(project, name, place.documentId)}?${new URLSearchParams({
      start: String(place.start),
      end: String(place.end),
      ...(place.column === undefined ? {} : { column: place.column }),
      ...(place.chunkId === undefined ? {} : numberIn(place.chunkId)),
    })}`,
} as const

export interface NamedTab {
  readonly href: string
  readonly label: string
  readonly icon: IconName
}

/** The views of a knowledge base or an agent, its own address first. */
export const tabsOf = {
  knowledgeBase: (project: string, name: string): readonly NamedTab[] => [
    { href: addressOf.knowledgeBase(project, name), label: 'Documents', icon: 'file' },
    { href: addressOf.searchLab(project, name), label: 'Search', icon: 'search' },
    { href: addressOf.map(project, name), label: 'Map', icon: 'map' },
    { href: addressOf.addDocuments(project, name), label: 'Add', icon: 'upload' },
    { href: addressOf.knowledgeBaseSettings(project, name), label: 'Settings', icon: 'settings' },
  ],
  agent: (project: string, name: string): readonly NamedTab[] => [
    { href: addressOf.agent(project, name), label: 'Ask', icon: 'chat' },
    { href: addressOf.agentTraces(project, name), label: 'Traces', icon: 'chart' },
    { href: addressOf.agentSettings(project, name), label: 'Settings', icon: 'settings' },
  ],
} as const

interface ChunkPlace {
  readonly documentId: string
  /** Offsets in the text of the document's column, in UTF-16 code units as in the API. */
  readonly start: number
  readonly end: number
  readonly column?: string | undefined
  /** Needed because chunks made from JSON may have the same offsets. */
  readonly chunkId?: string | undefined
}

function numberIn(chunkId: string) {
  const number = chunkNumber(chunkId)
  return number === undefined ? {} : { chunk: String(number) }
}

/** The number in a chunk id: `<id>:<column>:<n>of<total>:<start>to<end>`. */
export function chunkNumber(chunkId: string): number | undefined {
  const [, number] = /:(\d+)of\d+:\d+to\d+$/.exec(chunkId) ?? []
  return number === undefined ? undefined : Number(number)
}

/** The addresses of views that are only for writing. */
const FOR_WRITING: readonly RegExp[] = [
  /^\/create\//,
  /^\/projects\/[^/]+\/knowledge_bases\/[^/]+\/add$/,
]

/** Whether the view at this address is useless for users who may not write. */
export function isForWriting(path: string): boolean {
  return FOR_WRITING.some((pattern) => pattern.test(path))
}
